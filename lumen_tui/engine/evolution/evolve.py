"""Evolve some session files and write what follows: the one way in for the engine and the command line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from lumen_tui.actions.evolution import learning
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.evolution import factual
from lumen_tui.engine.evolution.factual import Linked
from lumen_tui.engine.evolution.pipeline import EvolutionPipeline
from lumen_tui.model.config import EvolutionConfig
from lumen_tui.model.sessionlog import Report
from lumen_tui.storage import locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import evolved, writing
from lumen_tui.store.evolution.evolved import read_constitution
from lumen_tui.store.evolution.writing import Written
from lumen_tui.store.settings.config import load_config


class EvolutionOutcome(msgspec.Struct):
    """What one call brought."""

    reports: list[Report] = msgspec.field(default_factory=list)
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
    ("accepted", "learnt"), ("proposed", "proposed"), ("merged", "known already"), ("rejected", "turned away"),
    ("left_out", "left out"),
)  # fmt: skip


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
        outcome.written = writing.rebuild(layout, known, config, now=now, by=by, why=reason)
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
    linked = factual.link(
        store, now, tried, seconds=fresh.seconds, each=fresh.each_seconds, probe=probe and fresh.enabled
    )
    with locks.waiting_lock(store.layout.lock(evolved.LOCK)):
        if evolved.observations(store.layout):
            writing.write_claude_md(store.layout, config.evolution, now)
    return linked


def is_own(layout: Layout, path: Path) -> bool:
    """Return whether the engine's own workers wrote a session file."""
    return path.absolute().is_relative_to(layout.transcripts.absolute())
