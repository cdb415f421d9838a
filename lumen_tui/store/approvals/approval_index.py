"""The approvals that wait for a person, read again only when their folder changed."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lumen_tui.model.approvals import Approval
from lumen_tui.model.snapshot import Problem
from lumen_tui.model.tasks import TaskView
from lumen_tui.storage.layout import Layout
from lumen_tui.store.approvals import approvals

_TICK = 0.1  # seconds within which a file system may give two changes the same stamp
_HINT = "nobody is asked for it: the worker waits until its time is over. Look at the file, or cancel the task"


class ApprovalIndex:
    """Follows the folder of approvals."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._stamp = -1
        self._fresh = True
        self._open: tuple[Approval, ...] = ()
        self.problems: list[Problem] = []
        self.revision = 0

    def refresh(self, now: float) -> bool:
        """Check the folder; return whether something changed."""
        try:
            stamp = os.stat(self._layout.approvals).st_mtime_ns
        except OSError:
            stamp = 0
        if stamp == self._stamp and not self._fresh:
            return False
        self._stamp, self._fresh = stamp, abs(now - stamp / 1e9) < _TICK
        undecided = tuple(approvals.undecided(self._layout))
        problems = [
            Problem(where=f"approvals/{name}", what="the question cannot be read", hint=_HINT)
            for name in approvals.unreadable(self._layout)
        ]
        if (undecided, problems) == (self._open, self.problems):
            return False
        self._open, self.problems = undecided, problems
        self.revision += 1
        return True

    def waiting(self, now: float, tasks: Iterable[TaskView]) -> tuple[Approval, ...]:
        """Return the questions whose answer still matters: their task goes on, and their time is not over."""
        if not self._open:
            return ()
        live = {view.id for view in tasks if not view.finished}
        return tuple(request for request in self._open if now < request.expires and request.task_id in live)
