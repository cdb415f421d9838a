"""A host's record of what it sends home of one attempt: every frame is durable here before anybody gets to see it.

So the numbers never mean something else after a crash, and an engine that was away asks for what is behind the last
frame that it has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.frames import Frame
from lumen_tui.storage import files
from lumen_tui.storage.journal import Follower

PIECE = 256 * 1024  # bytes of a file in one frame: its line stays below what a reader takes
_decode = msgspec.json.Decoder(Frame).decode


class Spool:
    """The frames of one attempt, by number from 1."""

    def __init__(self, path: Path) -> None:
        """Open the spool at `path`, which need not exist, and find the frames that are there. StoreError."""
        self._path = path
        self._places: list[tuple[int, int]] = []  # of frame number n at n - 1: where its line is, and its bytes
        self._follower = Follower(path)
        self._read()

    @property
    def last(self) -> int:
        """The number of the newest frame; 0 where there is none."""
        return len(self._places)

    def add(self, changes: Sequence[Frame]) -> None:
        """Number the changes and keep them, with one sync. StoreError: none of them may be sent."""
        if not changes:
            return
        numbered = [msgspec.structs.replace(change, seq=self.last + at) for at, change in enumerate(changes, 1)]
        files.append(self._path, b"".join(msgspec.json.encode(frame) + b"\n" for frame in numbered))
        self._read()

    def after(self, seq: int, most: int = 4 * 1024 * 1024) -> list[Frame]:
        """Return the frames behind number `seq`, as many as fit into `most` bytes, and one at least if there is any."""
        frames: list[Frame] = []
        taken = 0
        for offset, size in self._places[max(0, seq) :]:
            taken += size
            if frames and taken > most:
                break
            frames.append(self._at(offset, size))
        return frames

    def frames(self) -> Iterator[Frame]:
        """Yield every frame, one after the other."""
        for offset, size in self._places:
            yield self._at(offset, size)

    def close(self) -> None:
        """Close the file."""
        self._follower.close()

    def _at(self, offset: int, size: int) -> Frame:
        fd = self._follower.open_copy()
        try:
            return _decode(os.pread(fd, size, offset))
        finally:
            os.close(fd)

    def _read(self) -> None:
        """Find the frames that were added. A torn line was sent to nobody; its number is given again."""
        for offset, data in self._follower.pieces():
            at = offset
            for line in data.splitlines(keepends=True):
                if _number(line) == self.last + 1:
                    self._places.append((at, len(line)))
                at += len(line)


def _number(line: bytes) -> int:
    try:
        return _decode(line).seq
    except UNDECODABLE:
        return 0
