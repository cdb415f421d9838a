"""The doctor's repairs of files: modes, torn ends, damaged lines, leftovers. Each is durable and loses nothing.

Temporary files that interrupted replaces leave beside the real ones are also removed by every engine, hourly.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from lumen_tui.model.digests import sha256
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.times import HOUR
from lumen_tui.storage import directories, files
from lumen_tui.storage.damage import Quarantined, known_lines
from lumen_tui.storage.journal import Journal, whole_lines
from lumen_tui.storage.layout import FOLDERS, Layout

_KEPT = 4096  # bytes of a damaged line in the quarantine journal; a longer one gets a file of its own
Judge = Callable[[bytes], str]  # returns why a line is no record, or the empty string


class Damaged(NamedTuple):
    """One line that is not a record. `number` counts from 1, blank lines included."""

    number: int
    offset: int
    reason: str
    size: int


def make_private(path: Path, mode: int) -> None:
    """Set the mode of a file; a link is left alone."""
    status = os.lstat(path)
    if not stat.S_ISLNK(status.st_mode):
        os.chmod(path, mode)


def is_torn(path: Path) -> bool:
    """Return whether the last line has no end and nobody is writing it now."""
    if not path.exists() or not path.stat().st_size:
        return False
    with files.locked_log(path) as fd:
        return os.pread(fd, 1, os.fstat(fd).st_size - 1) != b"\n"


def close_tail(path: Path) -> None:
    """End a torn last line, so that it spoils only itself."""
    files.append(path, b"")


def damaged_lines(path: Path, judge: Judge) -> list[Damaged]:
    """Return the damaged lines of a journal, without a torn one at its end."""
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return []
    damaged = []
    offset = 0
    try:
        for number, line in enumerate(whole_lines(fd), start=1):
            size = len(line)
            if (size > files.MAX_READ_LINE or judge(line)) and line.strip():
                damaged.append(Damaged(number, offset, _damage(line, judge), size))
            offset += size + 1
    finally:
        os.close(fd)
    return damaged


def _damage(line: bytes, judge: Judge) -> str:
    """Return why a line is no record, or the empty string."""
    if len(line) > files.MAX_READ_LINE:
        return f"longer than {files.MAX_READ_LINE:,} bytes"
    return judge(line)


def quarantine(layout: Layout, path: Path, judge: Judge, at: str) -> int:
    """Move damaged lines out of a journal, under its lock, and return how many. Their bytes are kept."""
    name = str(path.relative_to(layout.root))
    known = {(where, digest) for where, _, digest in known_lines(layout)}
    moved = 0

    def change(lines: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal moved
        offset = 0
        for line in lines:
            reason = _damage(line, judge) if line.strip() else ""
            if reason:
                _keep(layout, known, (name, offset, line, reason, at))
                moved += 1
            else:
                yield line
            offset += len(line) + 1

    Journal(path).rewrite(change)
    return moved


def _keep(layout: Layout, known: set[tuple[str, str]], damaged: tuple[str, int, bytes, str, str]) -> None:
    name, offset, line, reason, at = damaged
    digest = sha256(line)
    if len(line) > _KEPT:
        files.replace(layout.quarantine.with_name(f"{digest}.line"), line)
    if (name, digest) not in known:
        known.add((name, digest))
        text = line[:_KEPT].decode(errors="backslashreplace")
        Journal(layout.quarantine).append(Quarantined(name, offset, reason, digest, text, at))


def leftovers(root: Path, before: float) -> Iterator[Path]:
    """Yield unfinished replacements, files and task folders, last written before that time (seconds since 1970)."""
    for folder, folders, names in os.walk(root):
        for name in [*names, *folders]:
            path = Path(folder, name)
            if name.startswith(".") and name.endswith(".tmp") and os.lstat(path).st_mtime < before:
                yield path


def remove_leftover(path: Path) -> None:
    """Remove an unfinished replacement, a file or a folder with its files."""
    if not path.is_dir() or path.is_symlink():
        directories.remove(path)
        return
    for inner in path.iterdir():
        directories.remove(inner)
    os.rmdir(path)
    files.sync_folder(path.parent)


OLD_SECONDS = 60.0  # a younger one may be somebody's work
_TEMPORARY = lazy_re(r"\..*\.tmp", re.DOTALL).fullmatch


class Sweeper:
    """A sweep of the folders that every engine writes to, at its first call and then each hour."""

    def __init__(self, layout: Layout) -> None:
        self._folders = (layout.root, *(layout.root / name for name in FOLDERS))
        self._next = 0.0

    def sweep(self, now: float) -> None:
        """Remove what killed writers left there, if an hour has passed since the last time."""
        if now < self._next:
            return
        self._next = now + HOUR
        for folder in self._folders:
            sweep(folder, now - OLD_SECONDS)


def sweep(folder: Path, before: float) -> int:
    """Remove what interrupted replaces left in `folder` before that time (seconds since 1970); return how many."""
    try:
        with os.scandir(folder) as entries:
            old = [entry.path for entry in entries if _TEMPORARY(entry.name) and _is_old(entry, before)]
    except FileNotFoundError:
        return 0
    for path in old:
        directories.remove(path)
    return len(old)


def _is_old(entry: os.DirEntry[str], before: float) -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False  # its writer was quicker
    return stat.S_ISREG(status.st_mode) and status.st_mtime < before
