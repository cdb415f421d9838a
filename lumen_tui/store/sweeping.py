"""What interrupted replaces leave behind: temporary files beside the real ones, removed at an engine's start."""

from __future__ import annotations

import stat
from pathlib import Path

from lumen_tui.store import filing


def sweep(folder: Path, before: float) -> int:
    """Remove what interrupted replaces left in `folder` before that moment (seconds since 1970); returns how many."""
    old = [path for path in folder.glob(".*.tmp") if _is_old(path, before)]
    for path in old:
        filing.remove(path)
    return len(old)


def _is_old(path: Path, before: float) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False  # its writer was quicker
    return stat.S_ISREG(found.st_mode) and found.st_mtime < before
