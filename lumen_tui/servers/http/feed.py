"""What happens, as one stream: events of the engine, what appears on and leaves the attention queue, and signals.

Each message has a position as its id, with which a client goes on after a connection that ended. It says how far each
of the three journals was read, so the server keeps nothing for a client that is away.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec

from lumen_tui.engine.events import events_since
from lumen_tui.model.decoding import UNDECODABLE, decode_safe, safe_record
from lumen_tui.model.records import Signal
from lumen_tui.model.transitions import Transition
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.layout import Layout

_PIECE = 256 * 1024  # bytes of a journal that are read at once
_MOST_BEHIND = 4 * 1024 * 1024  # bytes of a journal: who is further behind reads the state instead
_MOST_EVENTS = 4_000
_LONGEST = 200  # characters of a position
_LOST = "a journal was cleaned up, or the place is too old: read the state again, then go on from here"
Place = tuple[int, int, int]  # device, inode, offset
_NOWHERE: Place = (0, 0, 0)


class MessageKind(StrEnum):
    """The `event:` of a message."""

    ENGINE = "engine"
    ATTENTION = "attention"
    SIGNAL = "signal"
    RESET = "reset"  # something is missing here: read the state again


class BadPosition(ValueError):
    """A Last-Event-ID that is none of ours."""


class FeedPosition(NamedTuple):
    """How far the journals were read: the number of the last event, and the place in each of the other two."""

    seq: int = 0
    attention: Place = _NOWHERE
    signals: Place = _NOWHERE

    def place(self, kind: MessageKind) -> Place:
        """Return how far the journal of these messages was read."""
        return self.attention if kind is MessageKind.ATTENTION else self.signals

    def at(self, kind: MessageKind, place: Place) -> FeedPosition:
        """Return the position behind a place in the journal of these messages."""
        return self._replace(attention=place) if kind is MessageKind.ATTENTION else self._replace(signals=place)

    def __str__(self) -> str:
        places = [".".join(f"{part:x}" for part in place) for place in (self.attention, self.signals)]
        return "-".join([f"{self.seq:x}", *places])

    @classmethod
    def parse(cls, text: str) -> FeedPosition:
        """Return the position that a client names. Raise BadPosition."""
        try:
            seq, *places = text[:_LONGEST].split("-")
            attention, signals = ([int(part, 16) for part in place.split(".")] for place in places)
            (a, b, c), (d, e, f) = attention, signals
            return cls(int(seq, 16), (a, b, c), (d, e, f))
        except ValueError as error:
            raise BadPosition("Last-Event-ID must be an id of this stream: leave it out to begin with now") from error


class FeedMessage(NamedTuple):
    """One message as it goes over the line, and the position behind it."""

    kind: MessageKind
    position: FeedPosition
    data: bytes

    def is_after(self, position: FeedPosition) -> bool:
        """Return whether a reader that has come so far has not seen it."""
        if self.kind is MessageKind.RESET:
            return True
        if self.kind is MessageKind.ENGINE:
            return self.position.seq > position.seq
        own, read = self.position.place(self.kind), position.place(self.kind)
        return own[:2] != read[:2] or own[2] > read[2]


def _message(kind: MessageKind, position: FeedPosition, record: object) -> FeedMessage:
    """Return a message; JSON has no line end in it, so it is one line."""
    body = msgspec.json.encode(record)
    data = b"id: %s\nevent: %s\ndata: %s\n\n" % (str(position).encode(), kind.encode(), body)
    return FeedMessage(kind, position, data)


class FeedReader:
    """Reads the three journals from a position on, or from their ends."""

    def __init__(self, layout: Layout, position: FeedPosition | None = None) -> None:
        self._layout = layout
        self._attention = Follower(layout.transitions)
        self._signals = Follower(layout.signals)
        self._lost = False  # whether something between the position and what is read was passed over
        newest = events_since(layout, 0, 1)
        seq = newest[-1].seq if newest else 0
        self.position = position or FeedPosition(seq, _end_of(layout.transitions), _end_of(layout.signals))
        if self.position.seq > seq:
            self._lost, self.position = True, self.position._replace(seq=seq)
        for follower, kind in ((self._attention, MessageKind.ATTENTION), (self._signals, MessageKind.SIGNAL)):
            self._resume(follower, kind)

    def _resume(self, follower: Follower, kind: MessageKind) -> None:
        """Go on at the position in one journal, or at its end where that is no place in it, or one far behind."""
        place, end = self.position.place(kind), _end_of(follower.path)
        is_known = place[:2] == end[:2] or place == _NOWHERE
        if not is_known or not 0 <= end[2] - place[2] <= _MOST_BEHIND:
            self._lost = True
            place = end
        if place != _NOWHERE:
            follower.resume(place)
        self.position = self.position.at(kind, place)

    def read(self) -> list[FeedMessage]:
        """Return what is new, a piece at a time: empty where all was read. A RESET tells that something is missing."""
        messages = [
            *self._events(),
            *self._lines(self._attention, MessageKind.ATTENTION, Transition),
            *self._lines(self._signals, MessageKind.SIGNAL, Signal),
        ]
        if self._lost:
            self._lost = False
            messages.append(_message(MessageKind.RESET, self.position, {"reason": _LOST}))
        return messages

    def _events(self) -> Iterator[FeedMessage]:
        events = events_since(self._layout, self.position.seq, _MOST_EVENTS)
        if events and events[0].seq > self.position.seq + 1:
            self._lost = True  # rotated away, damaged, or too many
        for event in events:
            self.position = self.position._replace(seq=event.seq)
            yield _message(MessageKind.ENGINE, self.position, safe_record(event))

    def _lines(self, follower: Follower, kind: MessageKind, record: type[msgspec.Struct]) -> Iterator[FeedMessage]:
        generation = follower.generation
        offset, data = follower.poll(_PIECE)
        if follower.generation != generation:  # rewritten: what was read before would come again
            self._lost = True
            follower.close()
            end = _end_of(follower.path)
            follower.resume(end)
            self.position = self.position.at(kind, end)
            return
        device, inode, _ = follower.place()
        for line in data.splitlines(keepends=True):
            offset += len(line)
            self.position = self.position.at(kind, (device, inode, offset))
            with contextlib.suppress(*UNDECODABLE):
                yield _message(kind, self.position, decode_safe(line, record))

    def close(self) -> None:
        """Close the journals."""
        self._attention.close()
        self._signals.close()


def _end_of(path: Path) -> Place:
    """Return device, inode and size of a journal; zeros where there is none yet."""
    try:
        status = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return _NOWHERE
    return (status.st_dev, status.st_ino, status.st_size)
