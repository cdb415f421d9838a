"""Which number a line has, and back, in a journal of any length: one quick pass, then a megabyte read for each."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections.abc import Iterator

from lumen_tui.storage import backwards

_BLOCK = 1024 * 1024


def whole_blocks(fd: int, begin: int = 0) -> Iterator[tuple[int, bytes]]:
    """(offset, whole lines) from an offset on, about a megabyte each. A torn last line is left out.

    What is appended after the first of them was asked for is left out too: writers may be as quick as the reader.
    """
    size, wanted = os.fstat(fd).st_size, _BLOCK
    while data := os.pread(fd, max(0, min(wanted, size - begin)), begin):
        end = data.rfind(b"\n") + 1
        if end:
            yield begin, data[:end]
            begin, wanted = begin + end, _BLOCK
        elif len(data) < wanted:
            return
        else:
            wanted *= 2  # one line longer than that


class LineMap:
    """The whole lines of an open journal, as many as there were when it was made."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._offsets, self._ordinals = array("Q"), array("Q")  # of the first line of each block
        self.count = self.end = 0  # lines, and the offset behind the last of them
        for offset, block in whole_blocks(fd):
            self._offsets.append(offset)
            self._ordinals.append(self.count)
            self.count += block.count(b"\n")
            self.end = offset + len(block)

    def ordinal(self, offset: int) -> int:
        """The number, from 0, of the line that begins at `offset`."""
        at = bisect_right(self._offsets, offset) - 1
        begin = self._offsets[at]
        return self._ordinals[at] + os.pread(self._fd, offset - begin, begin).count(b"\n")

    def line(self, ordinal: int) -> bytes:
        """The line with that number, without its newline."""
        at = bisect_right(self._ordinals, ordinal) - 1
        begin, left = self._offsets[at], ordinal - self._ordinals[at]
        end = self._offsets[at + 1] if at + 1 < len(self._offsets) else self.end
        return os.pread(self._fd, end - begin, begin).split(b"\n", left + 1)[left]


def holds(fd: int, offset: int, identifier: str) -> bool:
    """Whether a line that names this id begins at `offset`."""
    return f'"{identifier}"'.encode() in backwards.line_at(fd, offset)
