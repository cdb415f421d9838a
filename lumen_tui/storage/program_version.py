"""Whether the program was upgraded since this process started.

An upgrade replaces the files under a running process. What it imports from then on is of another version or missing,
and so are the roles that come with it: it must decide nothing any more, report that and be started again.
"""

from __future__ import annotations

import os

from lumen_tui.model.snapshot import Problem

_MARK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__init__.py")
REPLACED = "the program was replaced while it ran; start it again"


def _fingerprint() -> tuple[int, int, int]:
    """Return inode, time and size, which differ in every installation; zeros where there is none."""
    try:
        status = os.stat(_MARK)
    except OSError:
        return 0, 0, 0
    return status.st_ino, status.st_mtime_ns, status.st_size


_STARTED = _fingerprint()


def replaced() -> str:
    """Return why this process must be started again, or the empty string."""
    return "" if _fingerprint() == _STARTED else REPLACED


def problems() -> list[Problem]:
    """Return the replaced program as a problem."""
    reason = replaced()
    hint = "leave the room (q) and open it again: an engine of the new program comes with it, workers go on meanwhile"
    return [Problem("lumen-tui", reason, hint)] if reason else []
