"""Evolve some session files and write what follows: the one way in for the engine and the command line.

Observations that can be checked from outside become facts with probes, and go when the observation goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions import edits
from lumen_tui.actions import facts as verbs
from lumen_tui.actions.evolution import learning
from lumen_tui.actions.nodes import BACK_TO_OPEN
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.evolution.pipeline import EvolutionPipeline
from lumen_tui.model import facts, fields, times
from lumen_tui.model.evolution import Observation, ObservationKind, ObservationStatus, SessionReport, Trust
from lumen_tui.model.facts import Confirmation, Fact, Outcome, Probe, Reading
from lumen_tui.model.ids import short_hash
from lumen_tui.model.wording import normal
from lumen_tui.storage import locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import evolved, writing
from lumen_tui.store.evolution.constitution import read_constitution
from lumen_tui.store.evolution.writing import Written
from lumen_tui.store.memory import facts as kept
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.facts import FactIndex
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.probes import batch
from lumen_tui.tools.probes.batch import ProbeJob, suggest

if TYPE_CHECKING:
    from lumen_tui.model.config import EvolutionConfig

BY = "evolution"
_KINDS = frozenset({ObservationKind.FACT, ObservationKind.DECISION})  # the others say what to do, or what happened once
_MOST = 40  # observations whose probes are looked at in one call; the others come with the next


class Linked(msgspec.Struct):
    """What one call did; ids of nodes."""

    made: list[str] = msgspec.field(default_factory=list)
    retired: list[str] = msgspec.field(default_factory=list)
    again: bool = False  # there is more to look at

    @property
    def summary(self) -> str:
        """One plain sentence, empty where nothing was done."""
        counts = ((self.made, "noted"), (self.retired, "archived"))
        parts = [f"{len(names)} fact{'s' if len(names) > 1 else ''} {word}" for names, word in counts if names]
        return ", ".join(parts)


class EvolutionOutcome(msgspec.Struct):
    """What one call brought."""

    reports: list[SessionReport] = msgspec.field(default_factory=list)
    written: Written | None = None

    def total(self, name: str) -> int:
        """Return the sum of one count over all reports."""
        return sum(getattr(report, name) for report in self.reports)

    @property
    def summary(self) -> str:
        """One plain sentence."""
        counts = [(self.total(name), word) for name, word in _COUNTS]
        counted = ", ".join(f"{count} {word}" for count, word in counts if count) or "nothing new"
        unread = sum(bool(report.problem) for report in self.reports)
        count = len(self.reports) - unread
        counted += f"; {unread} not read" if unread else ""
        version = f"; version {self.written.version.version}" if self.written and self.written.version else ""
        return f"{count} session{'' if count == 1 else 's'} read: {counted}{version}"


_COUNTS = (
    ("accepted", "learnt"),
    ("proposed", "proposed"),
    ("merged", "known already"),
    ("rejected", "rejected"),
    ("left_out", "left out"),
)


def check_constitution(layout: Layout) -> None:
    """Raise ActionError if nothing may be learnt."""
    if fault := read_constitution(layout).why:
        raise ActionError(
            f"{fault}: nothing is learnt until `lumen-tui constitution approve` (see `constitution diff`)"
        )


def evolve(layout: Layout, evolving: EvolutionPipeline, paths: Iterable[Path], *, now: float) -> EvolutionOutcome:
    """Read each file, then write the files of evolved/. A constitution that was changed stops it: ActionError."""
    outcome = EvolutionOutcome()
    for path in paths:
        check_constitution(layout)
        outcome.reports.append(evolving.read(path, now, own=is_own(layout, path)))
        if not outcome.reports[-1].finished:
            break
    evolving.settle(now)
    return outcome


def write(layout: Layout, outcome: EvolutionOutcome, config: EvolutionConfig, *, now: float, by: str) -> None:
    """Bring evolved/ and CLAUDE.md up to date with what was learnt."""
    with locks.waiting_lock(layout.lock(evolved.LOCK)):
        known = evolved.observations(layout)
        before = dict(known)
        learnt = outcome.total("accepted")
        reason = f"{learnt} learnt from {len(outcome.reports)} session{'' if len(outcome.reports) == 1 else 's'}"
        outcome.written = writing.rebuild(layout, known, config, now=now, by=by, reason=reason)
        with learning(
            layout, [(before.get(observation.id), observation) for observation in outcome.written.put_off], now=now
        ):
            pass  # it is written: had it no room, it waits


def link_facts(store: Store, now: float, tried: set[str], *, probe: bool = True) -> Linked:
    """Make facts of what probes can confirm, and CLAUDE.md say which of its lines are stale.

    `tried` names what needs no second look, and grows. Without `probe` nothing new is looked at.
    """
    config = load_config(store.layout)[0]
    fresh = config.freshness
    linked = _link(store, now, tried, seconds=fresh.seconds, each=fresh.each_seconds, probe=probe and fresh.enabled)
    with locks.waiting_lock(store.layout.lock(evolved.LOCK)):
        if evolved.observations(store.layout):
            writing.write_claude_md(store.layout, config.evolution, now)
    return linked


def is_own(layout: Layout, path: Path) -> bool:
    """Return whether the engine's own workers wrote a session file."""
    return path.absolute().is_relative_to(layout.transcripts.absolute())


def _link(store: Store, now: float, tried: set[str], *, seconds: float, each: float, probe: bool = True) -> Linked:
    """Bring facts in line with what was learnt. `tried` holds the ids whose probes did not hold, and grows.

    A probe that does not hold at the first look was a wrong guess, not a drift: it is left out.
    """
    known = evolved.observations(store.layout)
    linked = Linked()
    with closing(FactIndex(store.layout)) as index:
        index.refresh()
        _retire(store, index, known, linked, now)
        index.refresh()
    candidates = list(_candidates(index, known, tried)) if probe else []
    linked.again = len(candidates) > _MOST
    jobs = [ProbeJob(observation.id, probe) for observation, probes in candidates[:_MOST] for probe in probes]
    held: dict[str, list[tuple[Probe, Reading]]] = {observation.id: [] for observation, _ in candidates[:_MOST]}
    for job, reading in batch.run(store.root, jobs, seconds=seconds, each=each):
        if reading.outcome is Outcome.HOLDS:
            held[job.fact_id].append((job.probe, reading))
    tried.update(_key(observation) for observation, _ in candidates[:_MOST] if not held[observation.id])
    for observation, _ in candidates[:_MOST]:
        if held[observation.id]:
            _note(store, observation, held[observation.id], linked, now)
    return linked


def _key(observation: Observation) -> str:
    """Return the key of a claim: the same observation in other words is another one."""
    return f"{observation.id}:{observation.text}"


def _root(index: FactIndex, fact: Fact) -> Fact:
    """Return the fact with which a chain of superseded ones began."""
    seen = {fact.id}
    while fact.supersedes and fact.supersedes not in seen and (state := index.get(fact.supersedes)):
        fact = state.fact
        seen.add(fact.id)
    return fact


def _candidates(
    index: FactIndex, known: dict[str, Observation], tried: set[str]
) -> Iterable[tuple[Observation, list[Probe]]]:
    """Yield accepted observations that suggest probes and are no fact yet, not even a dropped one."""
    states = index.states()
    claimed = {
        f"{state.fact.observation}:{_root(index, state.fact).claim}" for state in states if state.fact.observation
    }
    claims = {normal(state.fact.claim) for state in states}
    looked_at = [{_place(probe) for probe in state.fact.probes} for state in states if state.current]
    for observation in reversed(known.values()):
        if (
            observation.status is not ObservationStatus.ACCEPTED
            or observation.kind not in _KINDS
            or _key(observation) in tried | claimed
        ):
            continue
        probes = [
            probe for probe in suggest(observation.text) if observation.trust is Trust.PERSON or probe.kind != "http"
        ]
        places = {_place(probe) for probe in probes}
        if probes and normal(observation.text) not in claims and not any(places <= other for other in looked_at):
            looked_at.append(places)
            yield observation, probes


def _place(probe: Probe) -> tuple[str, ...]:
    return (probe.kind, probe.target, probe.at, probe.pattern, probe.expected)


def _note(
    store: Store, observation: Observation, held: list[tuple[Probe, Reading]], linked: Linked, now: float
) -> None:
    """Append the node; its id comes from the observation and its text, so that two processes make one node."""
    source = f"{observation.id}, session {observation.sources[0].session}, line {observation.sources[0].line}"
    meta = facts.metadata("steady", source, tuple(probe for probe, _ in held), observation=observation.id)
    record = verbs.node(observation.text, meta, by=BY, now=now)
    record["id"] = f"mem-{short_hash(_key(observation))}"
    record["metadata"]["trust"] = str(observation.trust)

    def edit(current: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        if record["id"] in current:
            return [], b""
        linked.made.append(record["id"])
        return [record], b""

    nodes.change(store.layout, [record["id"]], edit)
    if record["id"] in linked.made:
        at = times.iso(now)
        kept.record(
            store.layout,
            [
                Confirmation(record["id"], at, Outcome.HOLDS, probe.id, evidence=reading.evidence, by="probe")
                for probe, reading in held
            ],
        )


def _retire(store: Store, index: FactIndex, known: dict[str, Observation], linked: Linked, now: float) -> None:
    """Archive facts whose observation is no longer accepted; restore those whose observation is again.

    What a person dropped stays dropped.
    """
    wanted: dict[str, bool] = {}
    for state in index.states():
        observation = known.get(state.fact.observation)
        if observation is not None and state.fact.status in ("open", "archived"):
            holds = (
                observation.status is ObservationStatus.ACCEPTED and observation.text == _root(index, state.fact).claim
            )
            if holds is not state.current:
                wanted[state.fact.id] = holds

    def edit(current: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        return [node for node in current.values() if _turned(node, wanted[str(node["id"])], linked, now)], b""

    if wanted:
        nodes.change(store.layout, wanted, edit)


def _turned(node: Raw, holds: bool, linked: Linked, now: float) -> bool:
    """Archive or restore the node; return whether it was changed."""
    if holds and nodes.get_field(node, "metadata.archived_by") == BY:
        edits.patch(node, BACK_TO_OPEN, by=BY, now=now)
        linked.made.append(str(node["id"]))
        return True
    if not holds and edits.status_of(node) == "open":
        edits.patch(node, fields.archived("what it was learnt from holds no more", by=BY, now=now), by=BY, now=now)
        linked.retired.append(str(node["id"]))
        return True
    return False
