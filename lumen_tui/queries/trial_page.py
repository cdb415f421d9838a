"""Candidates with what their last trial showed, and what is in force: one reading for the room and the command line."""

from __future__ import annotations

import time

from msgspec import Struct

from lumen_tui.model.abtests import ABResult
from lumen_tui.model.decoding import safe_record
from lumen_tui.model.evolved_edits import EvolvedVersion, Measure, title
from lumen_tui.model.trials import EvolutionCandidate, Promotion, TrialProgress, TrialReport
from lumen_tui.queries.ab_results import ab_result
from lumen_tui.storage import process
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.process import ProcessId
from lumen_tui.store.evolution import candidates, champions
from lumen_tui.store.evolution.champions import DamagedChampion
from lumen_tui.store.tasks.task_records import read_json

_MOST = 500  # candidates, the newest


class TriedCandidate(Struct, frozen=True):
    """One candidate.

    Its state is a word: in force, passed, failed, not measured, not tried, for a person, withdrawn.
    """

    candidate: EvolutionCandidate
    state: str
    trial: TrialReport | None = None

    @property
    def id(self) -> str:
        """That of the candidate."""
        return self.candidate.id

    @property
    def title(self) -> str:
        """The edit in a line."""
        return title(self.candidate.edit)


class TrialPage(Struct, frozen=True):
    """All candidates, the newest first; the ledger, oldest first; `fault` says why the version cannot be read."""

    tried: tuple[TriedCandidate, ...] = ()
    champion: str = ""
    edits: int = 0
    ledger: tuple[Promotion, ...] = ()
    fault: str = ""
    now: TrialProgress | None = None  # the trial that asks a model now
    live: ABResult | None = None  # the newest A/B test


def read_trial_page(layout: Layout) -> TrialPage:
    """Read the page as it is now; every text is safe."""
    fault, champion, ledger = "", EvolvedVersion(), list[Promotion]()
    try:
        champion, ledger = champions.current(layout), champions.ledger(layout)
    except DamagedChampion as error:
        fault = str(error)
    reports = candidates.reports_by_candidate(layout)
    newest = list(candidates.candidates(layout).values())[: -_MOST - 1 : -1]
    tried = [_tried(each, reports.get(each.id, []), champion) for each in newest]
    shown = tuple(safe_record(promotion) for promotion in ledger)
    return TrialPage(
        tuple(tried),
        champion.name,
        len(champion.edits),
        shown,
        fault,
        under_way(layout),
        ab_result(layout, time.time()),
    )


def under_way(layout: Layout) -> TrialProgress | None:
    """Return how far the trial is that asks a model now; None where none does, or its process has gone."""
    shown = read_json(layout.trial_now, TrialProgress)
    if shown is None or not process.is_same(ProcessId(shown.pid, shown.start_ticks, shown.boot_id)):
        return None
    return shown


def _tried(candidate: EvolutionCandidate, reports: list[TrialReport], champion: EvolvedVersion) -> TriedCandidate:
    last = safe_record(reports[-1]) if reports else None
    if candidate.edit in champion.edits:
        state = "in force"
    elif candidate.withdrawn:
        state = "withdrawn"
    elif candidate.edit.measure is Measure.PERSON:
        state = "for a person"
    elif last is None:
        state = "not tried"
    else:
        state = "passed" if last.passed else "failed" if last.measured else "not measured"
    return TriedCandidate(safe_record(candidate), state, last)
