"""The engine's event log, events.jsonl: append, rotate, read back; and its events about missed and failed beats."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.loop import EngineEvent
from lumen_tui.model.text import safe_all
from lumen_tui.model.times import iso
from lumen_tui.storage import backwards, directories, files
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.redaction import clean
from lumen_tui.storage.store import Store

_TAIL = 256 * 1024
_ROTATE_AT = 8 * 1024 * 1024
_event = msgspec.json.Decoder(EngineEvent)

Listener = Callable[[EngineEvent], None]


def recent_events(store: Store, limit: int) -> list[EngineEvent]:
    """Return the newest events, oldest first, made safe to show; damaged lines are skipped."""
    events = []
    for _, line in split_lines(backwards.read_tail(store.layout.events, max(_TAIL, limit * 300)), 0):
        try:
            events.append(EngineEvent(**safe_all(msgspec.structs.asdict(_event.decode(line)))))
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

    def add(self, kind: str, text: str, now: float, *, task_id: str = "", **data: Any) -> EngineEvent:
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


NO_ENGINE = "no engine ran"
STOOD_STILL = "the engine stood still"
SLEPT = "the machine slept"
IDLE = "nothing new"  # a beat that finds nothing to do has done its work


class BeatLog:
    """Records missed, skipped and failed beats. What was missed is counted and never made up for."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._skipped = self._failed = ""  # the reasons that were recorded last
        self._unwritten = ""  # a failure that the disk would not take

    def missed(self, late: float, every: float, reason: str, now: float) -> None:
        """Record beats missed because this one comes `late` seconds; none below one interval of `every` seconds."""
        count = int(late // max(1.0, every))
        if count > 0:
            beats = "1 beat" if count == 1 else f"{count} beats"
            self._log.add("beats_missed", f"{beats} missed while {reason}", now, missed=count, reason=reason)

    def ran(self, loop: int, skipped: str, now: float) -> None:
        """Record a beat that was carried out: with loop number `loop`, or without one and why (`skipped`)."""
        self._failed = ""
        if self._unwritten:
            self._log.add("beat_failed", self._unwritten, now)
            self._unwritten = ""
        if loop:
            self._skipped = ""
        elif skipped not in ("", IDLE, self._skipped):
            self._skipped = skipped
            self._log.add("beat_skipped", f"no loop: {skipped}", now)

    def failed(self, reason: str, now: float) -> None:
        """Record a beat that was cut off; if even that cannot be written, the next beat that can writes it."""
        if reason == self._failed:
            return
        self._failed = self._unwritten = reason
        with contextlib.suppress(StoreError, OSError):
            self._log.add("beat_failed", reason, now)
            self._unwritten = ""
