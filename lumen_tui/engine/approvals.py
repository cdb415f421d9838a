"""The engine's share in approvals: requests that run out are refused and reported, those of ended tasks are closed."""

from __future__ import annotations

import re
from collections.abc import Callable

from lumen_tui.engine.events import EventLog
from lumen_tui.model import times
from lumen_tui.model.approvals import BY_END, EXPIRED, Approval, Decision
from lumen_tui.model.tasks import TaskView
from lumen_tui.storage import backwards
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamp, stamp
from lumen_tui.store.approvals import approvals

_ENDED = "the task ended before anybody answered"
_REMEMBERED = 2 * 1024 * 1024  # bytes of events looked through after a start
_EXPIRED_EVENT = re.compile(rb'"kind":"approval_expired".*?"approval":"([a-z0-9-]+)"')
Find = Callable[[str], TaskView | None]


class ApprovalMonitor:
    """Expires and closes approval requests for one engine."""

    def __init__(self, layout: Layout, log: EventLog, find: Find) -> None:
        """Use `find` to look up a task by its id."""
        self._layout = layout
        self._log = log
        self._find = find
        self._stamp: Stamp | None = None
        self._reported: set[str] | None = None  # ids of the expired ones that are in events.jsonl

    def poll(self, now: float) -> None:
        """Check all requests if the folder changed since the last pass."""
        if stamp(self._layout.approvals) != self._stamp:
            self.check_all(now)

    def check_all(self, now: float) -> None:
        """Expire what is overdue, and close what belongs to tasks that have ended."""
        self._stamp = stamp(self._layout.approvals)
        for approval_id in approvals.half_archived(self._layout):
            approvals.archive(self._layout, approval_id)
        for request in approvals.every(self._layout):
            task = self._find(request.task_id)
            if task is None and self._layout.task(request.task_id).is_dir():
                continue  # there, but not read yet, or not to be read
            if task is None or task.finished:
                self._close(request, now)
            else:
                self._expire(request, now)

    def _expire(self, request: Approval, now: float) -> None:
        """Refuse a request that is overdue. Its worker may have done so itself; it is reported either way."""
        answer = approvals.decision(self._layout, request.id)
        if answer is None and now >= request.expires:
            answer = approvals.expire(self._layout, request, now)
        self._report(request, answer, now)

    def _report(self, request: Approval, answer: Decision | None, now: float) -> None:
        if answer is None or answer.ended != EXPIRED:
            return
        if self._reported is None:
            self._reported = _reported_before(self._layout)
        if request.id not in self._reported:
            waited = times.span(max(0.0, request.expires - request.asked))
            text = f"{request.role} asked: {request.summary}: expired, denied by itself after {waited}"
            self._log.add("approval_expired", text, now, task_id=request.task_id, approval=request.id)
            self._reported.add(request.id)

    def _close(self, request: Approval, now: float) -> None:
        """Close the request of a task that has ended; one that is still open is withdrawn first."""
        withdrawn = Decision(
            allowed=False, hash=request.hash, at=times.iso(now), by=BY_END, reason=_ENDED, ended="withdrawn"
        )
        try:
            approvals.decide(self._layout, request, withdrawn, now)
            self._log.add("approval_withdrawn", f"{request.role}: {request.summary}", now, task_id=request.task_id)
        except approvals.Answered as error:
            self._report(request, error.decision, now)
        approvals.archive(self._layout, request.id)


def _reported_before(layout: Layout) -> set[str]:
    """Return the ids of the requests that the newest events report as expired."""
    tails = (backwards.read_tail(path, _REMEMBERED) for path in (layout.earlier_events, layout.events))
    return {match.decode() for tail in tails for match in _EXPIRED_EVENT.findall(tail)}
