"""Process what probes saw of facts: record it where it is news, and react where a fact drifted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions import edits, facts
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import facts as fact_model
from lumen_tui.model import freshness, times
from lumen_tui.model.facts import Confirmation, Fact, Outcome, Probe, Reading, probe_words
from lumen_tui.model.freshness import claim_of, plain
from lumen_tui.model.requests.facts import CheckFacts
from lumen_tui.model.text import one_line
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import facts as kept
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.facts import FactIndex
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.work import work_units

if TYPE_CHECKING:
    from lumen_tui.model.config import FreshnessConfig
    from lumen_tui.tools.probes.batch import ProbeJob

    Results = Sequence[tuple[ProbeJob, Reading]]

Report = Callable[..., object]  # (kind, text, at, **data): an event of the engine
_VALUED = frozenset({"text", "json", "output", "git"})  # kinds whose value can take the place of the old one
_SETTLING = 72  # a fact that took another's place in the last 1/72 of its span is not superseded again


def _unreported(kind: str, text: str, at: float, **data: str) -> None:
    """Ignore the event: only the engine writes events."""


class Users:
    """Who may currently rely on a fact: open work units, wake-state, CLAUDE.md, the newest capsule."""

    def __init__(self, store: Store) -> None:
        units = [unit for unit in work_units.list_units(store.layout)[0] if unit.status != "done"]
        self._units = {unit.id for unit in units}
        named = [(unit.id, "\n".join([unit.title, unit.body, *unit.acceptance])) for unit in units]
        self._texts = [(name, plain(text)) for name, text in [*named, *kept.texts_in_use(store.layout)]]

    def of(self, fact: Fact) -> tuple[str, ...]:
        """Return who names the fact, by its id or in its own words, or is the work unit that it was noted on."""
        needles = list(filter(None, (fact.id, claim_of(fact.title))))
        names = [name for name, text in self._texts if any(needle in text for needle in needles)]
        names += [fact.wu_id] if fact.wu_id in self._units else []
        return tuple(dict.fromkeys(names))


class FactReadings:
    """Processes probe readings; `report` is called with what a person should know."""

    def __init__(self, store: Store, index: FactIndex, report: Report = _unreported) -> None:
        self._store = store
        self._index = index
        self._report = report

    def take(self, results: Results, at: float) -> None:
        """Process readings of one moment: record them where they are news, and react where a fact drifted."""
        self._index.refresh()
        users = Users(self._store) if any(reading.outcome is Outcome.DRIFTED for _, reading in results) else None
        lines: list[Confirmation] = []
        news: list[tuple[Fact, Probe, Confirmation]] = []
        for job, reading in results:
            state = self._index.get(job.fact_id)
            if state is None or not state.current or job.probe not in state.fact.probes:
                continue  # changed while it was looked at
            line = _line(state.fact, job.probe, reading, at, users)
            before = self._index.evidence(job.fact_id).latest.get(job.probe.id)
            if freshness.worth_recording(before, line, state.fact.span):
                lines.append(line)
                if before is None or before.outcome != line.outcome:
                    news.append((state.fact, job.probe, line))
        kept.record(self._store.layout, lines)
        self._index.refresh()
        self._tell(news, at)
        self._follow_up(at)

    def _tell(self, news: Iterable[tuple[Fact, Probe, Confirmation]], at: float) -> None:
        for fact, probe, line in news:
            title = one_line(fact.title, 100)
            state = self._index.get(fact.id)
            if line.outcome == Outcome.FAILED:
                self._report("probe_failed", f"“{title}” ({probe_words(probe)}): {line.evidence}", at, fact=fact.id)
            elif line.outcome == Outcome.DRIFTED:
                denial = state.denial if state is not None else "does not hold"
                after = self._superseded(fact, probe, line, at)
                used = f"; used by {', '.join(line.used_by)}" if line.used_by else ""
                text = f"“{title}” {denial}: {line.evidence}{used}"
                self._report("fact_drifted", text, at, fact=fact.id, superseded_by=after)

    def _superseded(self, fact: Fact, probe: Probe, line: Confirmation, at: float) -> str:
        """Supersede a fact that drifted and return the new id; empty where a person has to say what holds now."""
        unsettled = bool(fact.supersedes) and at - fact.written < fact.span / _SETTLING
        if not line.value or not probe.expect or probe.kind not in _VALUED or unsettled:
            return ""
        after = supersede(self._store, fact, probe, line.value, now=at)
        if after:
            reading = Confirmation(after, times.iso(at), Outcome.HOLDS, probe.id, evidence=line.evidence, by="probe")
            kept.record(self._store.layout, [reading])
        return after

    def _follow_up(self, at: float) -> None:
        """Record again who relies on superseded facts that nobody dealt with; repaired texts no longer count."""
        self._index.refresh()
        drifted = [old for old in self._index.states() if old.fact.status == "superseded" and old.drifted]
        unsettled = [old for old in drifted if not old.settled]
        users = Users(self._store) if unsettled else None
        lines = []
        for state in unsettled:
            used = users.of(state.fact) if users else ()
            last = self._index.evidence(state.fact.id).decisive
            lines += [
                msgspec.structs.replace(line, at=times.iso(at), used_by=used)
                for line in last.values()
                if line.outcome == Outcome.DRIFTED and line.used_by != used
            ]
        kept.record(self._store.layout, lines)


def _line(fact: Fact, probe: Probe, reading: Reading, at: float, users: Users | None) -> Confirmation:
    drifted = reading.outcome is Outcome.DRIFTED
    return Confirmation(
        fact.id,
        times.iso(at),
        reading.outcome,
        probe.id,
        evidence=reading.evidence,
        value=reading.value if drifted else "",
        by="probe",
        used_by=users.of(fact) if drifted and users else (),
    )


def check_now(store: Store, fact_ids: Sequence[str], *, now: float, config: FreshnessConfig) -> Results:
    """Run all probes of these facts at once and wait for them, then process what they saw."""
    from lumen_tui.tools.probes import batch  # starts a process: not for every verb

    with closing(FactIndex(store.layout)) as index:
        index.refresh()
        states = [state for fact_id in fact_ids if (state := index.get(fact_id)) and state.current]
        jobs = [batch.ProbeJob(state.fact.id, probe) for state in states for probe in state.fact.probes]
        seconds = max(config.seconds, len(jobs) * config.each_seconds)
        results = batch.run(store.root, jobs, seconds=seconds, each=config.each_seconds)
        FactReadings(store, index).take(results, now)
    return results


def supersede(store: Store, fact: Fact, probe: Probe, value: str, *, now: float) -> str:
    """Replace a fact with what a probe saw; the old one is kept, with a link. Return the new id.

    Empty if somebody dealt with the fact meanwhile.
    """
    probes = tuple(
        msgspec.structs.replace(old_probe, expect=value) if old_probe.id == probe.id else old_probe
        for old_probe in fact.probes
    )
    source = f"probe {probe.id}: {probe_words(probe)}"
    meta = fact_model.metadata(
        fact.span_class, source, probes, supersedes=fact.id, was=probe.expect, observation=fact.observation
    )
    record = facts.node(_claim(fact, probe, value), meta, by="probe", now=now, wu_id=fact.wu_id)
    new_ids: list[str] = []

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        old = records.get(fact.id)
        if old is None or edits.status_of(old) != "open":
            return [], b""
        link = {"metadata.status": "superseded", "metadata.superseded_by": record["id"]}
        edits.patch(old, link, by="probe", now=now)
        new_ids.append(record["id"])
        return [old, record], b""

    nodes.change(store.layout, [fact.id], edit)
    if not new_ids:
        return ""
    store.relationships.append(facts.edge(new_ids[0], fact.id, "related", by="probe", now=now))
    return new_ids[0]


def _claim(fact: Fact, probe: Probe, value: str) -> str:
    """Return the claim with the new value in place of the old one, or beside it where the claim does not name that."""
    if probe.expect and probe.expect in fact.claim:
        return fact.claim.replace(probe.expect, value)
    return f"{fact.claim}\n(seen now: {value}; was: {probe.expect or 'not said'})"


def doubtful(store: Store, fact_id: str, *, now: float) -> list[tuple[Probe, Reading]]:
    """Run the probes of a new fact and record it; return those that do not hold, each with its reading."""
    results = check_now(store, [fact_id], now=now, config=load_config(store.layout)[0].freshness)
    return [(job.probe, reading) for job, reading in results if reading.outcome is not Outcome.HOLDS]


def check(store: Store, request: CheckFacts, *, by: str, now: float) -> Done:
    """Make the probes in a child process and record what they saw; final."""
    index, known_ids = facts.known(store, request.fact_ids)
    for fact_id in known_ids:
        facts.must_be_current(index, fact_id)
    results = check_now(store, known_ids, now=now, config=load_config(store.layout)[0].freshness)
    if not results:
        raise ActionError("there is no probe to make: add one with `fact probe ID PROBE`", missing=True)
    outcomes = [reading.outcome for _, reading in results]
    counts_text = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in Outcome if outcome in outcomes)
    last = results[-1][1].evidence if len(results) == 1 else ""
    summary = f"{facts.named(index, known_ids)}: {counts_text}" + (f" ({last})" if last else "")
    final = "what probes saw stays on record: `fact retire` puts a fact away that nobody needs"
    action = edits.new_action("fact.check", (), summary=summary, by=by, now=now, target=known_ids[0], final=final)
    journal.record(store.layout, action)
    return Done(summary=summary, target=known_ids[0], action_id=action.id)
