"""The task's events: appended as they happen (redacted, safe, short), and read again after an earlier attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.tasks import TaskEvent
from lumen_tui.model.text import safe
from lumen_tui.model.times import iso
from lumen_tui.storage import files
from lumen_tui.storage.journal import Journal
from lumen_tui.store.tasks.task_records import decode_safe

_MAX_TEXT = 4000  # characters of one event; full results are in result.md
_MOST = 1 << 30  # bytes


class Recorder:
    """Appends TaskEvent lines."""

    def __init__(
        self,
        journal: Journal,
        attempt: int,
        now: Callable[[], float],
        redact: Callable[[str], str],
        guard: Callable[..., AbstractContextManager[None]],
    ) -> None:
        self._journal = journal
        self._attempt = attempt
        self._now = now
        self._redact = redact
        self._guard = guard
        self.said = ""  # by the model since the last result: the words around the call that it makes

    def event(self, kind: str, text: str = "", *, tool: str = "", ok: bool = True, **data: Any) -> None:
        """Append one event. `data` holds numbers and short names only: it is not redacted."""
        clean = self._redact(safe(text))
        if len(clean) > _MAX_TEXT:
            clean = f"{clean[:_MAX_TEXT]}… ({len(clean) - _MAX_TEXT:,} more characters)"
        record = TaskEvent(
            at=iso(self._now()), kind=kind, text=clean, tool=tool, ok=ok, attempt=self._attempt, data=data
        )
        if kind in ("text", "result"):
            self.said = f"{self.said}{clean}"[-_MAX_TEXT:] if kind == "text" else ""
        with self._guard(step=kind == "call"):  # between two calls a worker may be asked to rest or to end
            self._journal.append(record)


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
            continue  # torn by a kill: what it reports had not begun
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
