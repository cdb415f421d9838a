"""What interrupted replaces leave behind: temporary files beside the real ones, removed at an engine's start."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from lumen_tui.store import filing

_TEMPORARY = re.compile(r"\..*\.tmp", re.DOTALL).fullmatch


def sweep(folder: Path, before: float) -> int:
    """Remove what interrupted replaces left in `folder` before that moment (seconds since 1970); returns how many."""
    try:
        with os.scandir(folder) as entries:
            old = [entry.path for entry in entries if _TEMPORARY(entry.name) and _is_old(entry, before)]
    except FileNotFoundError:
        return 0
    for path in old:
        filing.remove(path)
    return len(old)


def _is_old(entry: os.DirEntry[str], before: float) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False  # its writer was quicker
    return stat.S_ISREG(found.st_mode) and found.st_mtime < before
