"""The lines of a journal by offset and by number, without holding them: what makes a million rows cheap.

Offsets and sorted rows take a few bytes each; a map of line numbers takes one quick pass, then a megabyte for each.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping

from lumen_tui.storage import backwards, files

_FAR = 2**32 - 1
_GUESS = 1024  # most lines fit into one pread of this size


class OpenFile:
    """A descriptor that survives a rewrite of its path: earlier snapshots can still be read."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __del__(self) -> None:
        os.close(self._fd)

    def line(self, offset: int) -> bytes:
        """Return the line that begins at `offset`, without its newline."""
        size = _GUESS
        while True:
            data = os.pread(self._fd, size, offset)
            end = data.find(b"\n")
            if end >= 0:
                return data[:end]
            if len(data) < size or size > files.MAX_READ_LINE:
                return data
            size *= 8

    def part(self, begin: int, end: int) -> bytes:
        """Return the bytes from one offset to another."""
        return os.pread(self._fd, end - begin, begin)


class Offsets:
    """Ascending offsets in four bytes each; what is further than that from the last base begins another base."""

    def __init__(self) -> None:
        self._relative = array("I")
        self._bases = array("Q")  # offset of the first of each stretch
        self._starts = array("Q")  # its place

    def __len__(self) -> int:
        return len(self._relative)

    def __getitem__(self, place: int) -> int:
        return self._bases[bisect_right(self._starts, place) - 1] + self._relative[place]

    def columns(self) -> dict[str, array[int]]:
        """Return the columns that `restored` takes."""
        return {"relative": self._relative, "bases": self._bases, "starts": self._starts}

    @classmethod
    def restored(cls, columns: Mapping[str, memoryview]) -> Offsets:
        """Make the offsets again that gave these columns."""
        offsets = cls()
        offsets._relative.frombytes(columns["relative"])
        offsets._bases.frombytes(columns["bases"])
        offsets._starts.frombytes(columns["starts"])
        return offsets

    def append(self, offset: int) -> None:
        if not self._bases or offset - self._bases[-1] > _FAR:
            self._bases.append(offset)
            self._starts.append(len(self._relative))
        self._relative.append(offset - self._bases[-1])


class SortedRows:
    """Row numbers sorted by a key each: 12 bytes a row, log n to find, one memmove to change."""

    def __init__(self) -> None:
        self.keys = array("d")
        self.rows = array("I")

    def __len__(self) -> int:
        return len(self.rows)

    def columns(self, name: str) -> dict[str, array[int] | array[float]]:
        """Return the columns that `restore` takes under the same name."""
        return {f"{name} keys": self.keys, f"{name} rows": self.rows}

    def restore(self, columns: Mapping[str, memoryview], name: str) -> None:
        """Take over the rows that gave these columns."""
        self.keys.frombytes(columns[f"{name} keys"])
        self.rows.frombytes(columns[f"{name} rows"])

    def add(self, key: float, row: int) -> None:
        at = self._place(key, row)
        self.keys.insert(at, key)
        self.rows.insert(at, row)

    def remove(self, key: float, row: int) -> None:
        at = self._place(key, row)
        if at < len(self.rows) and self.keys[at] == key and self.rows[at] == row:
            del self.keys[at], self.rows[at]

    def _place(self, key: float, row: int) -> int:
        """Return where a row belongs; rows of the same key go by their number, as `fill` leaves them."""
        first, end = bisect_left(self.keys, key), bisect_right(self.keys, key)
        return bisect_left(self.rows, row, first, end)

    def fill(self, rows: list[int], key: Callable[[int], float]) -> None:
        """Replace everything at once; `rows`, which ascend, are sorted in place."""
        rows.sort(key=key)
        self.keys = array("d", map(key, rows))
        self.rows = array("I", rows)

    def below(self, key: float) -> int:
        """Return how many rows come before `key`."""
        return bisect_left(self.keys, key)


def split_lines(data: bytes, base: int) -> Iterator[tuple[int, bytes]]:
    """Yield the non-empty lines of `data` (which ends with a newline) with their offsets in the file."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        if end > start:
            yield base + start, data[start:end]
        start = end + 1


_BLOCK = 1024 * 1024


def whole_blocks(fd: int, begin: int = 0, block: int = _BLOCK) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, whole lines) from an offset on, about `block` bytes each, without a torn last line.

    What is appended after the first block was requested is left out: writers may be as quick as the reader.
    """
    size = os.fstat(fd).st_size
    length = block
    while data := os.pread(fd, max(0, min(length, size - begin)), begin):
        end = data.rfind(b"\n") + 1
        if end:
            yield begin, data[:end]
            begin += end
            length = block
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
