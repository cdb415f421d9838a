"""Random access to the lines of a journal through their offsets: what makes a million rows cheap."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right

from lumen_tui.store import files

_GUESS = 1024  # most lines fit into one pread of this size


class OpenFile:
    """A descriptor that outlives a rewrite of its path: pictures taken earlier can still be read."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __del__(self) -> None:
        os.close(self._fd)

    def line(self, offset: int) -> bytes:
        """The line that begins at `offset`, without its newline."""
        size = _GUESS
        while True:
            data = os.pread(self._fd, size, offset)
            end = data.find(b"\n")
            if end >= 0:
                return data[:end]
            if len(data) < size or size > files.MAX_READ_LINE:
                return data
            size *= 8


class SortedRows:
    """Row numbers in the order of a number each: 16 bytes a row, log n to find, one memmove to change."""

    def __init__(self) -> None:
        self.keys = array("d")
        self.rows = array("L")

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, key: float, row: int) -> None:
        at = bisect_right(self.keys, key)
        self.keys.insert(at, key)
        self.rows.insert(at, row)

    def remove(self, key: float, row: int) -> None:
        at = bisect_left(self.keys, key)
        while at < len(self.keys) and self.keys[at] == key:
            if self.rows[at] == row:
                del self.keys[at], self.rows[at]
                return
            at += 1

    def fill(self, pairs: list[tuple[float, int]]) -> None:
        """Replace everything at once."""
        pairs.sort()
        self.keys = array("d", [key for key, _ in pairs])
        self.rows = array("L", [row for _, row in pairs])

    def below(self, key: float) -> int:
        """How many rows stand before `key`."""
        return bisect_left(self.keys, key)


def split_lines(data: bytes, base: int) -> list[tuple[int, bytes]]:
    """The non-empty lines of `data` (which ends with a newline) with their offsets in the file."""
    found = []
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        if end > start:
            found.append((base + start, data[start:end]))
        start = end + 1
    return found
