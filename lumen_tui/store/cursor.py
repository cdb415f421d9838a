"""How far somebody read a journal, in a form that outlives restarts and rewrites."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lumen_tui.store import files
from lumen_tui.store.lines import split_lines


def end_of(path: Path) -> dict[str, Any]:
    """The cursor of a reader who has seen everything."""
    try:
        found = os.stat(path)
    except OSError:
        return {}
    return {"ino": found.st_ino, "offset": found.st_size}


def lines_after(path: Path, cursor: dict[str, Any]) -> tuple[list[tuple[int, bytes]], dict[str, Any]]:
    """The whole lines after `cursor` with their offsets, and the cursor after them.

    An empty cursor begins at the first line. After a rewrite the place is found again by the last line's own
    bytes (`last`); where that line is gone too, everything there is counts as read.
    """
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return [], cursor
    try:
        found = os.fstat(fd)
        start = _start(fd, found, cursor)
        data = os.pread(fd, max(0, found.st_size - start), start)
    finally:
        os.close(fd)
    data = data[: data.rfind(b"\n") + 1]
    lines = split_lines(data, start)
    last = lines[-1][1][:200].decode(errors="replace") if lines else cursor.get("last", "")
    return lines, {"ino": found.st_ino, "offset": start + len(data), "last": last}


def _start(fd: int, found: os.stat_result, cursor: dict[str, Any]) -> int:
    offset = cursor.get("offset", 0)
    if not isinstance(offset, int) or not cursor:
        return 0
    if cursor.get("ino") == found.st_ino and offset <= found.st_size:
        return offset
    return _after_line(fd, found.st_size, str(cursor.get("last", "")))


def _after_line(fd: int, size: int, last: str) -> int:
    if not last:
        return size
    data = os.pread(fd, size, 0)
    at = data.rfind(b"\n" + last.encode()) + 1 if not data.startswith(last.encode()) else 0
    if at == 0 and not data.startswith(last.encode()):
        return size
    end = data.find(b"\n", at)
    return size if end < 0 else end + 1
