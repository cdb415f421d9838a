"""The gate for candidates: compare with what is known, judge, ask a reviewer for objections, write.

Call it under the lock of evolved/.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import Struct

from lumen_tui.actions.evolution import gate_rules, learning
from lumen_tui.engine.evolution import candidates
from lumen_tui.engine.evolution.candidates import KnownObservations, LearningCandidate
from lumen_tui.model import ids, learning_rules
from lumen_tui.model.evolution import (
    GATE,
    MOST_ASKED,
    MOST_OF_COMMANDS,
    OBJECTION,
    ExtractionState,
    Observation,
    ObservationKind,
    ObservationStatus,
    Rejection,
    SessionReport,
    Trust,
    objected,
)
from lumen_tui.model.learning_rules import GateVerdict, Rules
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.times import iso
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import stamp
from lumen_tui.store.evolution import evolved

if TYPE_CHECKING:
    from lumen_tui.model.config import EvolutionConfig

Key = tuple[str, str, str]


class Reviewer(Protocol):
    """Reviews each candidate that would be accepted."""

    @property
    def by(self) -> str:
        """Who objects, for the record."""

    def objection(self, observation: Observation) -> str:
        """Return why it should not be accepted; empty if nothing speaks against it."""


def key_of(observation: Observation) -> Key:
    """Return a key that is the same when the same lines are read again."""
    return observation.sources[0].key, str(observation.kind), observation.text


class Opinion(Struct, frozen=True):
    """A model's objections; the empty one objects to nothing."""

    against: dict[Key, str] = {}
    brain: str = ""

    @property
    def by(self) -> str:
        return f"model {self.brain}".strip()

    def objection(self, observation: Observation) -> str:
        return self.against.get(key_of(observation), "")


class Passed(Struct, frozen=True):
    """Objects to nothing, and notes what the rules let pass."""

    seen: list[Observation]
    by: str = ""

    def objection(self, observation: Observation) -> str:
        self.seen.append(observation)
        return ""


NOBODY = Opinion()


class _GateRun(msgspec.Struct):
    """One call of `take`: what it goes by, and what comes of it."""

    held: ExtractionState
    report: SessionReport
    rules: Rules
    reviewer: Reviewer
    now: float
    away: list[Rejection] = msgspec.field(default_factory=list)


class CandidateGate:
    """Judges candidates; keeps what is known between calls and reads it again if another process wrote."""

    def __init__(self, layout: Layout, config: EvolutionConfig, *, dry_run: bool = False) -> None:
        self._layout = layout
        self._config = config
        self._dry = dry_run
        self._stamp = (-1, -1, -1)
        self._known = KnownObservations((), config.merge_at)
        self._rejected: set[str] | None = None
        self.seen: list[Observation] = []  # what this object made or changed, for those who report it
        self.turned_away: list[Rejection] = []

    def take(
        self,
        candidates: Iterable[LearningCandidate],
        held: ExtractionState,
        report: SessionReport,
        now: float,
        reviewer: Reviewer = NOBODY,
    ) -> None:
        """Judge candidates of one session, count them in its report, and write what came of them.

        `reviewer` is asked of each that the rules let pass. It can only take away.
        """
        run = _GateRun(held, report, gate_rules(self._layout), reviewer, now)
        self._refresh()
        changed: dict[str, Observation] = {}
        before: dict[str, Observation | None] = {}
        for candidate in candidates:
            observation = self._judge_one(candidate, run)
            if observation is not None:
                before.setdefault(observation.id, self._known.by_id.get(observation.id))
                self._known.add(observation)
                changed[observation.id] = observation
        self.seen += changed.values()
        self.turned_away += run.away
        if self._dry:
            return
        with learning(self._layout, [(before[name], observation) for name, observation in changed.items()], now=now):
            evolved.add(self._layout, changed.values())
            evolved.reject(self._layout, run.away)
        self._stamp = stamp(self._layout.observations)

    def _refresh(self) -> None:
        if self._dry and self._stamp != (-1, -1, -1):
            return
        current = stamp(self._layout.observations)
        if current != self._stamp:
            self._known = KnownObservations(evolved.observations(self._layout).values(), self._config.merge_at)
            self._stamp = current

    def _judge_one(self, candidate: LearningCandidate, run: _GateRun) -> Observation | None:
        """Return the record to write for one candidate; None if there is nothing to write."""
        held, report = run.held, run.report
        if held.new >= self._config.per_session:
            known = self._known.exactly(candidate.text)
            report.left_out += known is None
        else:
            known = self._known.same(candidate)
        if known is not None or held.new >= self._config.per_session:
            return self._merged(known, candidate, run) if known else None
        other = self._known.contrary(candidate)
        observation = _record(candidate, iso(run.now), other.id if other else "")
        verdict = learning_rules.judge(observation, candidate.evidence, run.rules)
        if verdict.status is ObservationStatus.REJECTED:
            report.rejected += 1
            self._turn_away(observation, verdict.reasons, run)
            return None
        if candidate.doubt:
            verdict = GateVerdict(ObservationStatus.PROPOSED, (candidate.doubt, *verdict.reasons))
        if verdict.status is ObservationStatus.PROPOSED and not self._may_ask(candidate):
            report.left_out += 1
            return None
        held.new += 1
        observation = self._reviewed(
            msgspec.structs.replace(observation, status=verdict.status, reasons=verdict.reasons), run
        )
        _count(report, observation.status)
        return observation

    def _may_ask(self, candidate: LearningCandidate) -> bool:
        """Return whether the question that a session puts to the operator has room for one more entry.

        What is not sure is left to the model that reads along, where there is one.
        """
        if candidate.doubt and self._config.extractor == "model":
            return False
        most = MOST_OF_COMMANDS if candidate.kind is ObservationKind.COMMAND else MOST_ASKED
        return self._known.asked(candidate.source.session) < most

    def _reviewed(self, observation: Observation, run: _GateRun) -> Observation:
        """Return the observation, or rejected if the reviewer objects. A person's own words are proposed instead."""
        objection = run.reviewer.objection(observation)
        if not objection:
            return observation
        by, reasons = run.reviewer.by, (OBJECTION + objection,)
        if observation.trust is Trust.PERSON:
            return msgspec.structs.replace(observation, status=ObservationStatus.PROPOSED, reasons=reasons, by=by)
        observation = msgspec.structs.replace(observation, status=ObservationStatus.REJECTED, reasons=reasons, by=by)
        self._turn_away(observation, reasons, run)
        return observation

    def _merged(self, known: Observation, candidate: LearningCandidate, run: _GateRun) -> Observation | None:
        merged = candidates.joined(known, candidate, iso(run.now))
        if merged is None:
            if objected(known):  # a kill may have come between the two files
                self._turn_away(known, known.reasons, run)
            return None
        run.report.merged += 1
        if not candidates.rises(known, candidate):
            return merged
        verdict = learning_rules.judge(merged, candidate.evidence, run.rules)
        if verdict.status is ObservationStatus.REJECTED:
            return None
        if objected(known):  # what a model turned away waits, once a person says it
            return (
                msgspec.structs.replace(merged, status=ObservationStatus.PROPOSED)
                if merged.trust is Trust.PERSON
                else merged
            )
        return self._risen(msgspec.structs.replace(merged, status=verdict.status, reasons=verdict.reasons), run)

    def _risen(self, observation: Observation, run: _GateRun) -> Observation:
        """Return one that would be accepted now; if the reviewer objects it stays proposed."""
        objection = run.reviewer.objection(observation) if observation.status is ObservationStatus.ACCEPTED else ""
        if not objection:
            return observation
        return msgspec.structs.replace(
            observation, status=ObservationStatus.PROPOSED, reasons=(OBJECTION + objection,), by=run.reviewer.by
        )

    def _turn_away(self, observation: Observation, reasons: tuple[str, ...], run: _GateRun) -> None:
        """Note it in rejections.jsonl, once. One rejected by a model has its own record, so that it can be restored."""
        redact, source = run.rules.redact, observation.sources[0]
        if self._rejected is None:
            self._rejected = {
                _mark(rejection.session, rejection.line, rejection.text)
                for rejection in evolved.rejections(self._layout)
            }
        text, quote = (one_line(redact(safe(words)), 300) for words in (observation.text, observation.quote))
        if (mark := _mark(source.session, source.line, text)) in self._rejected:
            return
        self._rejected.add(mark)
        name, by = (observation.id, observation.by) if objected(observation) else ("", GATE)
        at, kind = iso(run.now), str(observation.kind)
        run.away.append(Rejection(at, text, quote, source.session, source.line, kind, reasons, name, by))


def _mark(session: str, line: int, text: str) -> str:
    return f"{session}:{line}:{text}"


def _record(candidate: LearningCandidate, at: str, contradicts: str) -> Observation:
    return Observation(
        ids.new_id("evo"),
        at,
        candidate.kind,
        candidate.text,
        candidate.target,
        candidate.quote,
        (candidate.source,),
        candidate.trust,
        candidate.confidence,
        subject=candidate.subject,
        value=candidate.value,
        contradicts=contradicts,
    )


def _count(report: SessionReport, status: ObservationStatus) -> None:
    if status is ObservationStatus.ACCEPTED:
        report.accepted += 1
    elif status is ObservationStatus.PROPOSED:
        report.proposed += 1
    else:
        report.rejected += 1
