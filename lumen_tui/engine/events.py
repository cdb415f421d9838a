"""The engine's event log, events.jsonl: append, rotate, read back."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

import msgspec

from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.loop import EngineEvent
from lumen_tui.model.times import iso
from lumen_tui.storage import backwards, directories, files
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.redaction import clean
from lumen_tui.storage.store import Store

_TAIL = 256 * 1024
_ROTATE_AT = 8 * 1024 * 1024
_REMEMBERED = 2 * 1024 * 1024  # bytes of either file in which `newest` looks
_event = msgspec.json.Decoder(EngineEvent)

Listener = Callable[[EngineEvent], None]


def recent_events(store: Store, limit: int) -> list[EngineEvent]:
    """Return the newest events, oldest first, made safe to show; damaged lines are skipped."""
    events = []
    for _, line in split_lines(backwards.read_tail(store.layout.events, max(_TAIL, limit * 300)), 0):
        try:
            events.append(decode_safe(line, EngineEvent))
        except UNDECODABLE:
            continue
    return events[-limit:]


class EventLog:
    """Appends events under a sequence number that grows by one and survives restarts and rotation."""

    def __init__(self, store: Store, listeners: tuple[Listener, ...] = ()) -> None:
        self._store = store
        self._listeners = listeners
        self._previous = store.layout.earlier_events
        last = recent_events(store, 1)
        self.seq = last[-1].seq if last else self._last_rotated()

    def _last_rotated(self) -> int:
        for _, line in reversed(split_lines(backwards.read_tail(self._previous, _TAIL), 0)):
            try:
                return _event.decode(line).seq
            except UNDECODABLE:
                continue
        return 0

    def add(self, kind: str, text: str, now: float, *, task_id: str = "", **data: object) -> EngineEvent:
        """Record one event durably and notify the listeners."""
        event = EngineEvent(seq=self.seq + 1, at=iso(now), kind=kind, text=clean(text), task_id=task_id, data=data)
        self._store.events.append(event)
        self.seq = event.seq
        for listener in self._listeners:
            listener(event)
        return event

    def since(self, seq: int) -> list[EngineEvent]:
        """Return the events after `seq`, also those in the rotated file."""
        events: list[EngineEvent] = []
        if seq >= self.seq:
            return events
        for event in self._newest_first():
            if event.seq <= seq:
                break
            events.append(event)
        return events[::-1]

    def newest(self, kind: str) -> Iterator[EngineEvent]:
        """Yield the events of one kind in the newest part of both files."""
        needle = f'"kind":"{kind}"'.encode()
        for journal in (self._previous, self._store.layout.events):
            for line in backwards.read_tail(journal, _REMEMBERED).splitlines():
                if needle in line:
                    with contextlib.suppress(*UNDECODABLE):
                        yield _event.decode(line)

    def _newest_first(self) -> Iterator[EngineEvent]:
        for journal in (self._store.layout.events, self._previous):
            try:
                fd = files.open_plain(journal)
            except FileNotFoundError:
                continue
            try:
                for _, line in backwards.lines(fd):
                    with contextlib.suppress(*UNDECODABLE):
                        yield _event.decode(line)
            finally:
                os.close(fd)

    def rotate(self) -> None:
        """Start a new file once the current one has grown large; the previous one is kept."""
        try:
            size = os.stat(self._store.layout.events).st_size
        except OSError:
            return
        if size > _ROTATE_AT:
            directories.move(self._store.layout.events, self._previous)
