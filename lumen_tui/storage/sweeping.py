"""Removal of the temporary files that interrupted replaces leave beside the real ones, for engine and doctor."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from lumen_tui.model.times import HOUR
from lumen_tui.storage import directories
from lumen_tui.storage.layout import FOLDERS, Layout

OLD_SECONDS = 60.0  # a younger one may be somebody's work
_TEMPORARY = re.compile(r"\..*\.tmp", re.DOTALL).fullmatch


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
