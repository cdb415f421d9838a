"""What earlier attempts at a task called: a rule that counts calls counts them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.tasks import TaskEvent
from lumen_tui.storage import files
from lumen_tui.store.tasks.task_records import decode_safe

_MOST = 1 << 30  # bytes


def calls_made(folder: Path, attempt: int) -> tuple[str, ...]:
    """Name the tools of all calls that the attempts before made, in order.

    One that was cut off may have been carried out, and counts; one that was refused, or still waited for a person's
    word, was not made.
    """
    return tuple(_made(_events(folder, attempt))) if attempt > 1 else ()


def _events(folder: Path, attempt: int) -> Iterator[TaskEvent]:
    for line in (files.read(folder / "events.jsonl", _MOST) or b"").splitlines():
        try:
            event = decode_safe(line, TaskEvent)
        except UNDECODABLE:
            continue  # torn by a kill: what it tells of had not begun
        if event.attempt < attempt:
            yield event


def _made(events: Iterable[TaskEvent]) -> Iterator[str]:
    called, asks = "", False
    for event in events:
        if event.kind in ("call", "started"):  # `started`: of the attempt behind one that was cut off
            if called and not asks:
                yield called
            called, asks = str(event.data.get("counts_as", event.tool)) if event.kind == "call" else "", False
        elif event.kind in ("waiting", "answered") and not event.data.get("budget"):
            asks = event.kind == "waiting"
        elif event.kind == "result":
            if called and not event.data.get("refused"):
                yield called
            called = ""
    if called and not asks:
        yield called
