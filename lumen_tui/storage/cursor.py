"""A reader's position in a journal, in a form that survives restarts and rewrites."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lumen_tui.storage import backwards, files
from lumen_tui.storage.line_access import split_lines

_FIRST = 4 * 1024 * 1024  # bytes that a reader without a cursor reads of a long journal


def lines_after(path: Path, cursor: dict[str, Any]) -> tuple[list[tuple[int, bytes]], dict[str, Any]]:
    """Return the whole lines after `cursor` with their offsets, and the cursor after them.

    An empty cursor begins at the first line, in a long journal 4 MiB before its end. After a rewrite the position is
    recovered from the last line's own bytes (`last`); where that line is gone too, from its date: what is older counts
    as read.
    """
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return [], cursor
    try:
        status = os.fstat(fd)
        start = _start(fd, status, cursor)
        data = os.pread(fd, max(0, status.st_size - start), start)
    finally:
        os.close(fd)
    data = data[: data.rfind(b"\n") + 1]
    lines = split_lines(data, start)
    last = lines[-1][1][:200].decode(errors="ignore") if lines else cursor.get("last", "")
    return lines, {"ino": status.st_ino, "offset": start + len(data), "last": last}


def _start(fd: int, status: os.stat_result, cursor: dict[str, Any]) -> int:
    offset = cursor.get("offset", 0)
    if not isinstance(offset, int) or not cursor:
        return _line_from(fd, status.st_size - _FIRST)
    if cursor.get("ino") == status.st_ino and offset <= status.st_size:
        return offset
    return _after_line(fd, str(cursor.get("last", "")).encode())


def _line_from(fd: int, offset: int) -> int:
    """Return the offset of the first line that begins after `offset`; 0 where that is negative."""
    if offset <= 0:
        return 0
    return offset + os.pread(fd, files.MAX_READ_LINE, offset).find(b"\n") + 1


def _after_line(fd: int, last: bytes) -> int:
    """Return the offset after the line that begins with `last`, or after the newest line that is not younger than it.

    Searched from the end, in blocks: after the clean-up of a million signals it is close to the end.
    """
    for start, block in backwards.blocks(fd) if last else ():
        begin = (b"\n" + block).rfind(b"\n" + last)
        if begin >= 0:
            return start + block.index(b"\n", begin) + 1
    date = _date(last)
    for offset, line in backwards.lines(fd):
        if line and (not date or _date(line) <= date):
            return offset + len(line) + 1
    return 0


def _date(line: bytes) -> bytes:
    """Return the date of a record as written; ISO-8601 in UTC sorts as text."""
    return line.partition(b'"created_at":')[2].strip(b' "')[:24]
