"""How long a worker waited for a person: time that does not count against its limit."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.model import times
from lumen_tui.model.tasks import TaskEvent
from lumen_tui.store.tasks.task_records import tail_events

_EVENTS, _BYTES = 100_000, 16 * 1024 * 1024


def waits_for_person(event: TaskEvent | None) -> bool:
    """Whether an event says that its worker waits until a person has answered or made room."""
    if event is None:
        return False
    return event.kind == "waiting" or (event.kind == "wait" and event.data.get("person") is True)


def died_waiting(folder: Path) -> int:
    """How many attempts said nothing more after they began to wait for a person."""
    last = {event.attempt: event for event in tail_events(folder, _EVENTS, _BYTES)}
    return sum(waits_for_person(event) for event in last.values())


def waited(folder: Path, attempt: int, now: float) -> float:
    """Seconds of an attempt between an event that it waits and the next one, or `now` where none came."""
    total, since = 0.0, 0.0
    for event in tail_events(folder, _EVENTS, _BYTES):
        if event.attempt != attempt:
            continue
        at = times.epoch(event.at)
        total += max(0.0, at - since) if since else 0.0
        since = at if waits_for_person(event) else 0.0
    return total + (max(0.0, now - since) if since else 0.0)
