"""Journals read from their end: whole lines, newest first, in blocks, so that cost does not grow with history.

On the path of the hot verbs: it imports nothing that they would not load anyway.
"""

from __future__ import annotations

import os

from lumen_tui.storage import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FIRST_BLOCK = 32 * 1024
_LARGEST_BLOCK = 1024 * 1024
_FAR = 2**62  # no file reaches there, and the kernel takes no larger offset


def blocks(fd: int, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, whole lines), the last ones first. A torn tail and overlong lines are skipped.

    With `end`, where a line begins, those before it alone.
    """
    position = os.fstat(fd).st_size if end is None else end
    size = _FIRST_BLOCK
    head = b""  # the end of a line that begins before `position`
    skipping = end is None  # until a newline: what follows the last one is a torn tail
    while position > 0:
        start = max(0, position - size)
        data = os.pread(fd, position - start, start) + head
        position = start
        head = b""
        size = min(2 * size, _LARGEST_BLOCK)
        if skipping:
            data = data[: data.rfind(b"\n") + 1]
            if not data:
                continue
            skipping = False
        begin = 0 if start == 0 else data.find(b"\n", 0, len(data) - 1) + 1
        if begin or start == 0:
            yield start + begin, data[begin:]
        head = data[:begin] if begin or start == 0 else data
        if len(head) > files.MAX_READ_LINE:
            head = b""
            skipping = True


def split(start: int, block: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line without its newline) of a block, the last one first."""
    end = len(block) - 1
    while end >= 0:
        begin = block.rfind(b"\n", 0, end) + 1
        yield start + begin, block[begin:end]
        end = begin - 1


def lines(fd: int, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line without its newline) of an open journal, newest first; with `end` those before it alone."""
    for start, block in blocks(fd, end):
        yield from split(start, block)


def read_tail(path: files.StrPath, size: int) -> bytes:
    """Return the whole lines within the last `size` bytes; empty where there is no file."""
    try:
        fd = files.open_plain(path)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    try:
        end = os.fstat(fd).st_size
        start = max(0, end - size)
        data = os.pread(fd, size, start)
    finally:
        os.close(fd)
    if start:
        data = data.partition(b"\n")[2]
    return data[: data.rfind(b"\n") + 1]


def line_at(fd: int, offset: int) -> bytes:
    """Return the whole line that begins at `offset` (an untrusted number); empty where none begins there."""
    if not 0 <= offset < _FAR or (offset and os.pread(fd, 1, offset - 1) != b"\n"):
        return b""
    data = os.pread(fd, 4096, offset)
    if b"\n" not in data:
        data = os.pread(fd, files.MAX_READ_LINE + 1, offset)
    line, newline, _ = data.partition(b"\n")
    return line if newline else b""


def line_start(fd: int, offset: int) -> int:
    """Return the start of the line that `offset` is in, or of the next where it is just behind one."""
    start = max(0, offset - files.MAX_READ_LINE)
    return start + os.pread(fd, offset - start, start).rfind(b"\n") + 1
