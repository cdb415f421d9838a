"""One run of a schedule carried out: a task made, a signal sent, or the main agent told. Twice is as once."""

from __future__ import annotations

import os

import msgspec

from lumen_tui.actions import acting
from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import perform
from lumen_tui.model import times
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.schedule_runs import RunState, ScheduledRun
from lumen_tui.model.schedules import SENDER, SLEEP, Schedule
from lumen_tui.model.text import one_line
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks import task_files

_CAUSES = {"change": "on a change of", "signal": "on the signal"}


def is_open(layout: Layout, run: ScheduledRun | None) -> bool:
    """Return whether the task of a run waits or works."""
    if run is None or run.makes != "task" or not run.made:
        return False
    folder = task_files.folder_of(layout, run.made)
    return folder is not None and not task_files.status_of(folder).ended


def carry_out(store: Store, schedule: Schedule | None, run: ScheduledRun, now: float) -> ScheduledRun:
    """Do what the schedule is for, unless it was done under this key; return the record of how it ended.

    StoreError where nothing can be written: the run stays open.
    """
    at = times.iso(now)
    if schedule is None or (not schedule.active and run.cause == "asked"):
        return msgspec.structs.replace(run, state=RunState.SKIPPED, at=at, why="the schedule was removed")
    layout = store.layout
    if schedule.id == SLEEP and os.path.exists(layout.open_loop):
        return msgspec.structs.replace(run, state=RunState.SKIPPED, at=at, why="the main agent is awake")
    if schedule.makes == "wake":
        return msgspec.structs.replace(run, state=RunState.DONE, at=at, text=schedule.text)
    by = f"{SENDER}{one_line(schedule.name, 64)}"
    try:
        done = perform(store, _request(schedule, run), by=by, now=now, client=acting.ENGINE, order=schedule.order)
    except ActionError as error:
        return msgspec.structs.replace(run, state=RunState.FAILED, at=at, why=one_line(str(error), 300))
    return msgspec.structs.replace(run, state=RunState.DONE, at=at, made=done.target)


def _request(schedule: Schedule, run: ScheduledRun) -> Request:
    if schedule.makes == "signal":
        return SendSignal(
            message=schedule.text,
            to=schedule.to,
            wu_id=schedule.wu_id,
            lane=schedule.lane,
            priority=schedule.priority,
            key=run.key,
        )
    return NewTask(
        objective=schedule.text,
        role=schedule.role,
        model=schedule.model,
        wu_id=schedule.wu_id,
        lane=schedule.lane,
        priority=schedule.priority,
        accept=schedule.accept,
        folder=schedule.folder,
        isolate=schedule.isolate,
        timeout_seconds=schedule.timeout_seconds,
        context=_context(schedule, run),
        budget={"usd": schedule.usd} if schedule.usd else None,
        key=run.key,
    )


def _context(schedule: Schedule, run: ScheduledRun) -> str:
    """Return what the worker is told of why it runs."""
    cause = _CAUSES.get(run.cause)
    about = f"{cause} {run.about}" if cause else f"due {times.stamp(run.due_at)}"
    return f"Run of the schedule {schedule.name} of {schedule.created_by}, {about}."
