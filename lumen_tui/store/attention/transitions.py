"""The journal of transitions: followed by whoever tells of them, written by the engine.

Where no engine drives, a room writes that, and nothing else. Who writes derives what is missing under the journal's
lock, so that two writers write nothing twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec

from lumen_tui.model.decoding import UNDECODABLE, decode_safe, lazy_decoder
from lumen_tui.model.transitions import QueueHistory, Transition
from lumen_tui.storage import backwards, files
from lumen_tui.storage.damage import Damage
from lumen_tui.storage.journal import Follower, Journal, encode
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines

_LONG = 2 * 1024 * 1024  # bytes from which the journal is shortened
_RETAINED = 2000  # lines that a shortened one keeps, beside those of what is on the queue
Derive = Callable[[QueueHistory], list[Transition]]


class TransitionBook:
    """Follows the journal; each line is read once. Not for use by two threads at once."""

    def __init__(self, layout: Layout) -> None:
        self._path = layout.transitions
        self._follower = Follower(layout.transitions)
        self._generation = self._follower.generation
        self._damage = Damage(layout.transitions.name, self._follower)
        self.history = QueueHistory()
        self.revision = 0

    def close(self) -> None:
        """Close the journal."""
        self._follower.close()

    def refresh(self) -> bool:
        """Read what is new; return whether there was anything. One `stat` call where nothing is."""
        if not self._follower.pending():
            return False
        for offset, data in self._follower.pieces():
            self._begin_again()
            for at, line in split_lines(data, offset):
                try:
                    self.history.take(decode_safe(line, Transition))
                except UNDECODABLE as error:
                    self._damage.add(at, str(error))
        self._begin_again()
        self.revision += 1
        return True

    def _begin_again(self) -> None:
        if self._generation != self._follower.generation:
            self._generation = self._follower.generation
            self.history = QueueHistory()

    def record(self, derive: Derive) -> list[Transition]:
        """Append what `derive` returns of the journal as it is, and return it. Raise files.StoreError."""
        self.refresh()
        if not derive(self.history):
            return []
        with files.locked_log(self._path) as fd:
            self.refresh()
            transitions = derive(self.history)
            if transitions:
                files.append_locked(fd, b"".join([encode(transition) for transition in transitions]))
        self.refresh()
        return transitions

    def needed(self) -> set[str]:
        """Return the ids of the transitions of what is on the queue."""
        return {transition.id for item in self.history.open.values() for transition in item.transitions}

    @property
    def damage(self) -> Damage:
        """The lines that could not be read."""
        return self._damage


def newest_first(layout: Layout) -> Iterator[Transition]:
    """Yield every transition, the last one first, its texts safe; damaged lines are skipped."""
    try:
        fd = files.open_plain(layout.transitions)
    except FileNotFoundError:
        return
    try:
        for _, line in backwards.lines(fd):
            try:
                transition = decode_safe(line, Transition)
            except UNDECODABLE:
                continue
            yield transition
    finally:
        os.close(fd)


class _Named(msgspec.Struct):
    """As much of a transition as shortening needs."""

    id: str


_named = lazy_decoder(_Named)


def shorten(layout: Layout, needed: set[str]) -> None:
    """Drop the oldest lines of a journal that has grown long; those that are `needed`, by their ids, stay."""
    if not _is_long(layout):
        return

    def change(lines: Iterator[bytes]) -> list[bytes]:
        every = list(lines)
        return [line for line in every[:-_RETAINED] if _id(line) in needed] + every[-_RETAINED:]

    Journal(layout.transitions).rewrite(change)


def _is_long(layout: Layout) -> bool:
    try:
        return os.stat(layout.transitions).st_size > _LONG
    except OSError:
        return False


def _id(line: bytes) -> str:
    try:
        return _named.decode(line).id
    except UNDECODABLE:
        return ""
