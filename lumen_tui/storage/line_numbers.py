"""Line numbers to offsets and back in a journal of any length: one quick pass, then a megabyte read for each."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections.abc import Iterator

from lumen_tui.storage import backwards

_BLOCK = 1024 * 1024


def whole_blocks(fd: int, begin: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, whole lines) from an offset on, about a megabyte each, without a torn last line.

    What is appended after the first block was requested is left out: writers may be as quick as the reader.
    """
    size = os.fstat(fd).st_size
    length = _BLOCK
    while data := os.pread(fd, max(0, min(length, size - begin)), begin):
        end = data.rfind(b"\n") + 1
        if end:
            yield begin, data[:end]
            begin += end
            length = _BLOCK
        elif len(data) < length:
            return
        else:
            length *= 2  # one line longer than that


class LineMap:
    """The whole lines of an open journal, as many as there were when the map was made."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._offsets = array("Q")  # of the first line of each block
        self._ordinals = array("Q")  # its number
        self.count = 0
        self.end = 0  # the offset after the last line
        for offset, block in whole_blocks(fd):
            self._offsets.append(offset)
            self._ordinals.append(self.count)
            self.count += block.count(b"\n")
            self.end = offset + len(block)

    def ordinal(self, offset: int) -> int:
        """Return the number, from 0, of the line that begins at `offset`."""
        at = bisect_right(self._offsets, offset) - 1
        begin = self._offsets[at]
        return self._ordinals[at] + os.pread(self._fd, offset - begin, begin).count(b"\n")

    def line(self, ordinal: int) -> bytes:
        """Return the line with that number, without its newline."""
        block = bisect_right(self._ordinals, ordinal) - 1
        begin = self._offsets[block]
        index = ordinal - self._ordinals[block]
        end = self._offsets[block + 1] if block + 1 < len(self._offsets) else self.end
        return os.pread(self._fd, end - begin, begin).split(b"\n", index + 1)[index]


def holds(fd: int, offset: int, identifier: str) -> bool:
    """Return whether a line that names this id begins at `offset`."""
    return f'"{identifier}"'.encode() in backwards.line_at(fd, offset)
