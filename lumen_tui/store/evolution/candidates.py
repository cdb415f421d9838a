"""Candidates, what each version did at each case, and the reports of trials: journals beside the suites."""

from __future__ import annotations

from collections.abc import Iterable

from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.evals import CaseRun
from lumen_tui.model.trials import EvolutionCandidate, TrialReport, fault
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout

_MOST_LINE = 8_000  # bytes of a candidate
_MOST = 1_000  # candidates
_decoder = lazy_decoder(EvolutionCandidate)


def candidates(layout: Layout) -> dict[str, EvolutionCandidate]:
    """Return the valid record of each candidate that is one, in the order in which they came."""
    by_id: dict[str, EvolutionCandidate] = {}
    for line in Journal(layout.candidates).lines():
        try:
            candidate = _decoder.decode(line) if len(line) <= _MOST_LINE else None
        except UNDECODABLE:
            continue  # the doctor names it
        if candidate is not None and not fault(candidate) and (candidate.id in by_id or len(by_id) < _MOST):
            by_id[candidate.id] = candidate
    return by_id


def write(layout: Layout, changed: Iterable[EvolutionCandidate]) -> None:
    """Append candidates durably; call it under the lock of suites."""
    Journal(layout.candidates).append_all(changed)


def runs(layout: Layout) -> dict[tuple[str, str, str], CaseRun]:
    """Return what is known of each case under each version, by `CaseRun.key`."""
    return {run.key: run for run in Journal(layout.case_runs).records(CaseRun)}


def remember(layout: Layout, done: Iterable[CaseRun]) -> None:
    """Append what was measured, so that a trial that is killed goes on from there."""
    Journal(layout.case_runs).append_all(done)


def trials(layout: Layout) -> list[TrialReport]:
    """Return all reports, oldest first."""
    return list(Journal(layout.trials).records(TrialReport))


def report(layout: Layout, done: TrialReport) -> None:
    """Append a report durably."""
    Journal(layout.trials).append(done)


def reports_by_candidate(layout: Layout) -> dict[str, list[TrialReport]]:
    """Return the reports of each candidate, oldest first."""
    by_id: dict[str, list[TrialReport]] = {}
    for each in trials(layout):
        by_id.setdefault(each.candidate, []).append(each)
    return by_id
