"""Tasks that wait for the answer to a question, and messages that came too late for any worker."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.engine.events import EventLog
from lumen_tui.engine.supervisor import workers
from lumen_tui.model import times
from lumen_tui.model.tasks import TaskEvent, TaskView
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals
from lumen_tui.store.tasks import steers, task_records


def go_on(layout: Layout, log: EventLog, view: TaskView, now: float) -> bool:
    """Queue a task whose question has its answer, or its default: the next worker goes on from there.

    Return whether it was queued. A question that is not there is asked again: its worker was killed just before it.
    """
    folder = layout.task(view.id)
    parked = task_records.read_parked(folder, view.attempt)
    if parked is None:
        return False
    request = approvals.read(layout, parked.question)
    answer = approvals.decision(layout, parked.question)
    if request is not None and answer is None:
        if now < request.expires:
            return False
        answer = approvals.expire(layout, request, now)
    workers.keep_attempt(folder, view.attempt)
    how = "the question is asked again" if answer is None else answer.reason if answer.ended else "it is answered"
    log.add("goes_on", f"{view.spec.role}: {view.spec.objective}: {how}", now, task_id=view.id)
    return True


def note_unseen(folder: Path, attempt: int, now: float) -> None:
    """Record in the events of a task that has ended which messages to it no worker has seen."""
    if not steers.size(folder):
        return
    for steer in steers.close(folder, attempt, "it has ended", now):
        text = f"not seen by any worker, as it has ended: {steer.text}"
        event = TaskEvent(times.iso(now), "note", text, ok=False, attempt=attempt, data={"steer": steer.id})
        Journal(folder / "events.jsonl").append(event)
