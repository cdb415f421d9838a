"""Candidates meet what is known and the gate; what comes of that is written. Call it under the lock."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lumen_tui.engine.evolution import merge
from lumen_tui.engine.evolution.found import Found
from lumen_tui.engine.evolution.merge import Known
from lumen_tui.engine.evolution.rules import gate_rules
from lumen_tui.model import gate, ids
from lumen_tui.model.config import EvolutionConfig
from lumen_tui.model.evolution import Observation, Status
from lumen_tui.model.gate import Rules
from lumen_tui.model.sessionlog import Open, Report
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.times import iso
from lumen_tui.store import evolved
from lumen_tui.store.evolved import Rejection
from lumen_tui.store.layout import Layout
from lumen_tui.store.stamped import stamp


class Judging:
    """Holds what is known between two calls and reads it anew where somebody else wrote."""

    def __init__(self, layout: Layout, config: EvolutionConfig, *, dry_run: bool = False) -> None:
        self._layout, self._config, self._dry = layout, config, dry_run
        self._stamp = (-1, -1, -1)
        self._known = Known((), config.merge_at)
        self._rejected: set[str] | None = None
        self.seen: list[Observation] = []  # what this object made or changed, for those who report it
        self.turned_away: list[Rejection] = []

    def take(self, found: Iterable[Found], held: Open, report: Report, now: float) -> None:
        """Judge candidates of one session, count them in its report, and write what came of them."""
        rules = gate_rules(self._layout)
        self._refresh()
        changed: dict[str, Observation] = {}
        away: list[Rejection] = []
        for one in found:
            made = self._one(one, held, report, rules, away, now)
            if made is not None:
                self._known.add(made)
                changed[made.id] = made
        self.seen += changed.values()
        self.turned_away += away
        if self._dry:
            return
        evolved.add(self._layout, changed.values())
        evolved.reject(self._layout, away)
        self._stamp = stamp(self._layout.observations)

    def _refresh(self) -> None:
        if self._dry and self._stamp != (-1, -1, -1):
            return
        now = stamp(self._layout.observations)
        if now != self._stamp:
            self._known = Known(evolved.observations(self._layout).values(), self._config.merge_at)
            self._stamp = now

    def _one(
        self, found: Found, held: Open, report: Report, rules: Rules, away: list[Rejection], now: float
    ) -> Observation | None:
        """The record to write for one candidate; None where there is nothing to write."""
        if held.new >= self._config.per_session:
            known = self._known.exactly(found.text)
            report.left_out += known is None
        else:
            known = self._known.same(found)
        if known is not None or held.new >= self._config.per_session:
            return self._again(known, found, rules, report, now) if known else None
        other = self._known.contrary(found)
        made = _record(found, iso(now), other.id if other else "")
        verdict = gate.judge(made, found.evidence, rules)
        if verdict.status is Status.REJECTED:
            self._turn_away(made, verdict.reasons, rules, report, away, now)
            return None
        held.new += 1
        _count(report, verdict.status)
        return msgspec.structs.replace(made, status=verdict.status, reasons=verdict.reasons)

    def _again(self, known: Observation, found: Found, rules: Rules, report: Report, now: float) -> Observation | None:
        made = merge.joined(known, found, iso(now))
        if made is None:
            return None
        report.merged += 1
        if merge.rises(known, found):
            verdict = gate.judge(made, found.evidence, rules)
            if verdict.status is Status.REJECTED:
                return None
            made = msgspec.structs.replace(made, status=verdict.status, reasons=verdict.reasons)
        return made

    def _turn_away(
        self,
        made: Observation,
        reasons: tuple[str, ...],
        rules: Rules,
        report: Report,
        away: list[Rejection],
        now: float,
    ) -> None:
        report.rejected += 1
        source = made.sources[0]
        if self._rejected is None:
            self._rejected = {_mark(one.session, one.line, one.text) for one in evolved.rejections(self._layout)}
        text, quote = (one_line(rules.redact(safe(words)), 300) for words in (made.text, made.quote))
        if (mark := _mark(source.session, source.line, text)) not in self._rejected:
            self._rejected.add(mark)
            away.append(Rejection(iso(now), text, quote, source.session, source.line, str(made.kind), reasons))


def _mark(session: str, line: int, text: str) -> str:
    return f"{session}:{line}:{text}"


def _record(found: Found, at: str, contradicts: str) -> Observation:
    return Observation(
        ids.new_id("evo"), at, found.kind, found.text, found.target, found.quote, (found.source,), found.trust,
        found.confidence, subject=found.subject, value=found.value, contradicts=contradicts,
    )  # fmt: skip


def _count(report: Report, status: Status) -> None:
    if status is Status.ACCEPTED:
        report.accepted += 1
    else:
        report.proposed += 1
