"""The engine's event log, events.jsonl, and records of beats: heartbeat.json, those missed, skipped, failed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

import msgspec

from lumen_tui.model import times
from lumen_tui.model.config import Config
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.loop import EngineEvent, Heartbeat
from lumen_tui.model.seals import SealHead
from lumen_tui.model.times import iso
from lumen_tui.storage import backwards, files, noted_heads, process, seals
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.lease import LeaseInfo
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.redaction import clean
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks.task_records import read_json

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


def events_since(layout: Layout, seq: int, most: int = 1 << 62) -> list[EngineEvent]:
    """Return the events after `seq`, oldest first, also those in the rotated file; of more than `most` the newest."""
    events: list[EngineEvent] = []
    for event in _newest_first(layout):
        if event.seq <= seq or len(events) >= most:
            break
        events.append(event)
    return events[::-1]


def _newest_first(layout: Layout) -> Iterator[EngineEvent]:
    for journal in (layout.events, layout.earlier_events):
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


class EventLog:
    """Appends events under a sequence number that grows by one and survives restarts and rotation."""

    def __init__(self, store: Store, listeners: tuple[Listener, ...] = ()) -> None:
        self._store = store
        self._listeners = listeners
        self._previous = store.layout.earlier_events
        last = recent_events(store, 1)
        self.seq = last[-1].seq if last else self._last_rotated()

    def _last_rotated(self) -> int:
        for _, line in reversed([*split_lines(backwards.read_tail(self._previous, _TAIL), 0)]):
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
        return [] if seq >= self.seq else events_since(self._store.layout, seq)

    def newest(self, kind: str) -> Iterator[EngineEvent]:
        """Yield the events of one kind in the newest part of both files."""
        needle = f'"kind":"{kind}"'.encode()
        for journal in (self._previous, self._store.layout.events):
            for line in backwards.read_tail(journal, _REMEMBERED).splitlines():
                if needle in line:
                    with contextlib.suppress(*UNDECODABLE):
                        yield _event.decode(line)

    def rotate(self) -> None:
        """Start a new file once the current one has grown large; the previous one is kept."""
        try:
            size = os.stat(self._store.layout.events).st_size
        except OSError:
            return
        if size > _ROTATE_AT:
            seals.move(self._store.layout.events, self._previous)


NO_ENGINE = "no engine ran"
UPGRADING = "upgrading"  # the kind of what is said before a state folder is saved and upgraded
STOOD_STILL = "the engine was stopped"
SLEPT = "the machine slept"
IDLE = "nothing new"  # a beat that finds nothing to do has done its work
_JUMP = 60.0  # seconds by which wall time may leave running time between two beats before it is an event


class LoopTurn(msgspec.Struct):
    """What became of the main agent's turn in one beat."""

    loop: int = 0  # the loop that ran or began
    skipped: str = ""  # why there was none


class HeartbeatFile:
    """Counts the beats of one engine and writes heartbeat.json; notices when the wall clock is moved."""

    def __init__(self, layout: Layout, lease: LeaseInfo, clock: Clock, now: float) -> None:
        self._path = layout.heartbeat
        self._lease = lease
        self._clock = clock
        self.before = read_json(layout.heartbeat, Heartbeat)  # what the engine before this one wrote last
        self.noted = noted_heads.noted(layout)  # of the chain of hashes, by engines before
        self.head = self.noted[0] if self.noted else SealHead()  # of the chain, as it was sealed last
        self.beats = self.before.beat if self.before else 0
        self._started_at = times.iso(now)
        self._last = (now, clock.running())
        self._jumped_in = -2  # the beat in or after which the wall clock was moved

    @property
    def jumped(self) -> bool:
        """Whether the wall clock was moved in this beat or since the one before it."""
        return self.beats <= self._jumped_in + 1

    def jump(self, now: float) -> float:
        """Return the seconds by which the wall clock was moved since the last call; 0 if it was not."""
        wall, running = self._last
        self._last = (now, self._clock.running())
        jump = (now - wall) - (self._last[1] - running)
        if abs(jump) <= _JUMP:
            return 0.0
        self._jumped_in = self.beats
        return jump

    def write(
        self, phase: str, now: float, config: Config, *, sandbox: str = "", next_at: float = 0.0, note: str = ""
    ) -> None:
        """Write the phase that begins now, and when the next beat is due."""
        from lumen_tui.providers.choose import provider_name  # behind the lease

        record = Heartbeat(
            beat=self.beats,
            phase=phase,
            at=times.iso(now),
            pid=self._lease.pid,
            start_ticks=self._lease.start_ticks,
            boot_id=self._lease.boot_id,
            host=process.host(),
            epoch=self._lease.epoch,
            next_at=times.iso(next_at) if next_at else "",
            next_in=max(0.0, next_at - now),
            running=self._clock.running(),
            awake=self._clock.awake(),
            jumped=self.jumped,
            started_at=self._started_at,
            every_seconds=config.heartbeat.every_minutes * 60,
            note=note,
            brain=provider_name(config.models, os.environ),
            sandbox=sandbox,
            seals=self.head.seals,
            head=self.head.head,
        )
        files.replace(self._path, msgspec.json.encode(record))


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
        with contextlib.suppress(files.StoreError, OSError):
            self._log.add("beat_failed", reason, now)
            self._unwritten = ""
