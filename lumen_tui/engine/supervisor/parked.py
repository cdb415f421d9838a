"""Tasks that wait without a process, for an answer or for tasks that they ordered; messages that came too late."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from lumen_tui.engine.events import EventLog
from lumen_tui.engine.supervisor import workers
from lumen_tui.model import times
from lumen_tui.model.tasks import Parked, TaskEvent, TaskView, TaskWait
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals
from lumen_tui.store.tasks import family, steers, task_records


def go_on(layout: Layout, log: EventLog, view: TaskView, now: float) -> bool:
    """Queue a task for which it has come what it waits for, or the end of the wait: the next worker goes on from there.

    Return whether it was queued.
    """
    folder = layout.task(view.id)
    parked = task_records.read_parked(folder, view.attempt)
    if parked is None:
        return False
    wait = task_records.read_wait(folder, parked.question)
    how = _answered(layout, parked, now) if wait is None else _ended(layout, folder, wait, now)
    if not how:
        return False
    workers.keep_attempt(folder, view.attempt)
    log.add("goes_on", f"{view.spec.role}: {view.spec.objective}: {how}", now, task_id=view.id)
    return True


def _answered(layout: Layout, parked: Parked, now: float) -> str:
    """Return how a question was answered; empty where it waits.

    One that is not there is asked again: its worker was killed just before it.
    """
    request = approvals.read(layout, parked.question)
    answer = approvals.decision(layout, parked.question)
    if request is not None and answer is None:
        if now < request.expires:
            return ""
        answer = approvals.expire(layout, request, now)
    return "the question is asked again" if answer is None else answer.reason if answer.ended else "it is answered"


def _ended(layout: Layout, folder: Path, wait: TaskWait, now: float) -> str:
    """Return that the tasks have ended, or the time that they had; empty where neither is so."""
    if not (still := family.not_over(layout, wait.tasks)):
        return "the tasks that it ordered have ended"
    if not wait.over and now < times.epoch(wait.until, now):
        return ""
    task_records.write_wait(folder, replace(wait, over=True))
    return f"its wait is over, with {len(still)} of the tasks that it ordered still open"


def awaited_by(layout: Layout, view: TaskView) -> str:
    """Return the task that ordered this one and is parked until it ends; empty where there is none."""
    folder = layout.task(view.spec.parent) if view.spec.parent else None
    parked = task_records.read_parked(folder) if folder else None
    wait = task_records.read_wait(folder, parked.question) if folder and parked else None
    return view.spec.parent if wait and view.id in wait.tasks and not wait.over else ""


def note_unseen(folder: Path, attempt: int, now: float) -> None:
    """Record in the events of a task that has ended which messages to it no worker has seen."""
    if not steers.size(folder):
        return
    for steer in steers.close(folder, attempt, "it has ended", now):
        text = f"not seen by any worker, as it has ended: {steer.text}"
        event = TaskEvent(times.iso(now), "note", text, ok=False, attempt=attempt, data={"steer": steer.id})
        Journal(folder / "events.jsonl").append(event)
