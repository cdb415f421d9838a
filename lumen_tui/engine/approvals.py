"""The engine's share in approvals: what nobody answered in time is refused, what nobody waits for is closed."""

from __future__ import annotations

from collections.abc import Callable

from lumen_tui.engine.events import EventLog
from lumen_tui.model import times
from lumen_tui.model.approvals import BY_END, Approval, Decision
from lumen_tui.model.tasks import TaskView
from lumen_tui.store import approvals
from lumen_tui.store.layout import Layout

_ENDED = "the task ended before anybody answered"


def tend(layout: Layout, log: EventLog, find: Callable[[str], TaskView | None], now: float) -> None:
    """One pass. `find` gives a task by its id."""
    for approval_id in approvals.half_away(layout):
        approvals.put_away(layout, approval_id)
    for request in approvals.every(layout):
        task = find(request.task_id)
        if task is None and layout.task(request.task_id).is_dir():
            continue  # there, but not read yet, or not to be read
        if task is None or task.finished:
            _close(layout, log, request, now)
        elif now >= request.expires and approvals.decision(layout, request.id) is None:
            approvals.expire(layout, request, now)
            log.add("approval_expired", f"{request.role}: {request.summary}", now, task_id=request.task_id)


def _close(layout: Layout, log: EventLog, request: Approval, now: float) -> None:
    """Put away what belongs to a task that is over; a question that was open is withdrawn first."""
    withdrawn = Decision(
        allowed=False, hash=request.hash, at=times.iso(now), by=BY_END, reason=_ENDED, ended="withdrawn"
    )
    try:
        approvals.decide(layout, request, withdrawn, now)
        log.add("approval_withdrawn", f"{request.role}: {request.summary}", now, task_id=request.task_id)
    except approvals.Answered:
        pass
    approvals.put_away(layout, request.id)
