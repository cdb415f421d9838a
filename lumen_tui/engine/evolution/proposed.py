"""Tries what the agent proposed, and has it sleep: each in a process of its own, while no task waits or runs.

It keeps no state: the reports say what was tried. A trial that came to no end is not begun again on the same day.
"""

from __future__ import annotations

import subprocess

from lumen_tui.actions.acting import LEARNING
from lumen_tui.engine.events import EventLog
from lumen_tui.engine.launch import start_sleep, start_trial
from lumen_tui.model.evolution import Trust
from lumen_tui.model.times import iso
from lumen_tui.queries.trial_page import TrialPage, TriedCandidate, read_trial_page
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import stamp


class ProposedTrials:
    """Begins trials, and says in the log what came of them."""

    def __init__(self, layout: Layout, log: EventLog) -> None:
        self._layout, self._log = layout, log
        self._child: subprocess.Popen[bytes] | None = None
        self._trying = ""
        self._begun: set[tuple[str, str, str]] = set()  # candidate, champion, day
        self._seen: object = None

    def beat(self, now: float, *, busy: bool) -> None:
        """Report the trial that ended; begin the next one unless there is work."""
        if self._child is not None:
            if self._child.poll() is None:
                return
            self._child = None
            self._report(now)
        paths = (self._layout.candidates, self._layout.trials, self._layout.champion)
        looks = (*map(stamp, paths), iso(now)[:10])
        if busy or looks == self._seen:
            return
        self._seen = looks
        try:
            self._begin(now)
        except (StoreError, OSError) as error:
            self._log.add("evolution", f"no trial could be begun: {error}", now)

    def _begin(self, now: float) -> None:
        page = read_trial_page(self._layout)
        for row in page.tried:
            key = (row.id, page.champion, iso(now)[:10])
            if _is_wanted(row, page) and key not in self._begun:
                self._begun.add(key)
                self._child = start_trial(self._layout.root, LEARNING, row.id)
                self._trying = row.id
                return

    def _report(self, now: float) -> None:
        row = next((each for each in read_trial_page(self._layout).tried if each.id == self._trying), None)
        if row is not None and row.trial is not None:
            words = f"tried {row.title}: {row.trial.words}"
            verdict = "it may be promoted" if row.trial.passed else "; ".join(row.trial.objections)
            self._log.add("evolution", f"{words}; {verdict}", now, candidate=row.id)
        self._seen = None


def _is_wanted(row: TriedCandidate, page: TrialPage) -> bool:
    """Return whether the agent proposed it, a trial can show something, and none was made against what is in force."""
    if row.candidate.trust is not Trust.AGENT or page.fault:
        return False
    if row.state in ("in force", "withdrawn", "for a person"):
        return False
    return row.trial is None or row.trial.champion != page.champion


class SleepWork:
    """Begins passes of sleep-time work where nothing waits, and ends the one that runs once something does."""

    def __init__(self, layout: Layout, log: EventLog) -> None:
        self._layout, self._log = layout, log
        self._child: subprocess.Popen[bytes] | None = None
        self._seen: object = None

    def beat(self, now: float, *, wanted: bool) -> None:
        """Begin a pass where it is wanted, and there is something that the last one has not seen, or a new day."""
        if self._child is not None and self._child.poll() is None:
            return
        self._child = None
        layout = self._layout
        looks = (*map(stamp, (layout.memory, layout.block_history, layout.tasks, layout.archive)), iso(now)[:10])
        if not wanted or looks == self._seen:
            return
        self._seen = looks
        try:
            self._child = start_sleep(layout.root, LEARNING)
        except (StoreError, OSError) as error:
            self._log.add("evolution", f"no sleep-time work could be begun: {error}", now)

    def wake(self) -> None:
        """End the pass that runs: something waits. What it found is kept, and the rest comes another time."""
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()
            self._seen = None
