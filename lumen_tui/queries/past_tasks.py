"""The tasks of an earlier moment, from what their folders say with a date."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lumen_tui.model import times
from lumen_tui.model.liveness import ASKS, WAIT, wait_until
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Exit, Run, Status, TaskEvent, TaskView
from lumen_tui.model.text import safe
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks.task_records import (
    TAIL_EVENTS,
    DamagedTask,
    TaskFiles,
    archive_months,
    make_view,
    read_json,
    read_run,
    read_spec,
    tail_events,
    task_names,
)

_ENDED = 200  # tasks that had ended by then and are shown
_EVENTS, _EVENT_BYTES = 5000, 4 * 1024 * 1024  # of a task, from its end
_RANK = {
    Status.WAITING: 0, Status.AWAITING: 1, Status.RUNNING: 1, Status.STALLED: 1, Status.QUEUED: 2, Status.LOST: 3,
    Status.FAILED: 3,
}  # fmt: skip


def tasks_at(layout: Layout, moment: float, roles: Sequence[Role]) -> tuple[TaskView, ...]:
    """Return the tasks of a moment: what had not ended in full, of what had the newest."""
    stall = {role.name: role.limits.stall_seconds for role in roles}
    views = [view for folder in _folders(layout, moment) if (view := _task_at(folder, moment, stall))]
    open_ones = [view for view in views if not view.finished]
    ended = sorted((view for view in views if view.finished), key=lambda view: -view.finished)[:_ENDED]
    open_ones.sort(key=lambda view: (_RANK.get(view.status, 4), view.spec.priority, view.started))
    return (*open_ones, *ended)


def _folders(layout: Layout, moment: float) -> Iterator[Path]:
    """Yield the folders in which tasks of that moment may be: those that live, and of the archive what ended since.

    Of what had ended before the newest are yielded.
    """
    yield from (layout.tasks / name for name in sorted(task_names(layout.tasks)))
    earlier = _ENDED
    for _, month, stamp in reversed(archive_months(layout.archive)):
        folders = sorted(((os.stat(month / name).st_mtime, month / name) for name in task_names(month)), reverse=True)
        for changed, folder in folders:
            earlier -= changed < moment
            if earlier >= 0:
                yield folder
        if earlier <= 0 and stamp / 1e9 < moment:
            return


def _task_at(folder: Path, moment: float, stall_after: Mapping[str, float]) -> TaskView | None:
    try:
        task = TaskFiles(folder, read_spec(folder))
    except (DamagedTask, files.StoreError, OSError):
        return None
    if task.created > moment:
        return None
    ended = read_json(folder / "exit.json", Exit)
    task.exit = ended if ended is not None and times.epoch(ended.finished_at) <= moment else None
    task.run = _run_at(folder, moment)
    recorded = () if task.exit is not None else tail_events(folder, _EVENTS, _EVENT_BYTES)
    events = [each for each in recorded if times.epoch(each.at) <= moment]
    task.tail = tuple(events[-TAIL_EVENTS:])
    task.last_event = times.epoch(events[-1].at) if events else 0.0
    if task.exit is not None:
        return make_view(task, Status(task.exit.status))
    status = _alive_status(task.run, task.tail)
    last = task.tail[-1] if task.tail else None
    held = status in (Status.WAITING, Status.AWAITING) or wait_until(last) > moment  # else its last words are no reason
    silent = moment - max(task.last_event, task.started)
    if status is Status.RUNNING and not held and 0 < stall_after.get(task.spec.role, 0) < silent:
        status = Status.STALLED
    return make_view(task, status, reason=safe(last.text) if last is not None and held else "")


def _run_at(folder: Path, moment: float) -> Run | None:
    """Return the last attempt that had begun."""
    run = read_json(folder / "run.json", Run)
    while run is not None and times.epoch(run.started_at) > moment:
        run = read_run(folder, run.attempt - 1) if run.attempt > 1 else None
    return run


def _alive_status(run: Run | None, tail: Sequence[TaskEvent]) -> Status:
    if run is None:
        return Status.QUEUED
    last = tail[-1] if tail else None
    if last is not None and last.kind == ASKS:
        return Status.WAITING
    if last is not None and last.kind == WAIT and "tasks" in last.data:
        return Status.AWAITING
    return Status.RUNNING
