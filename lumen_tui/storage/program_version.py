"""Whether the program's files are still the ones that this process was started from.

An upgrade replaces them under a process that runs. What it imports from then on is of another version or not there at
all, and so are the roles that come with it: it must judge nothing any more, say so and be started again.
"""

from __future__ import annotations

import os

from lumen_tui.model.snapshot import Problem

_MARK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__init__.py")
REPLACED = "the program was replaced while it ran; start it again"


def _look() -> tuple[int, int, int]:
    """Another inode, time or size in every installation; zeros where there is none."""
    try:
        found = os.stat(_MARK)
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size


_STARTED = _look()


def replaced() -> str:
    """Why this process must be started again, or the empty string."""
    return "" if _look() == _STARTED else REPLACED


def problems() -> list[Problem]:
    """The same for the list of what is wrong."""
    why = replaced()
    hint = "leave the room (q) and open it again: an engine of the new program comes with it, workers go on meanwhile"
    return [Problem("lumen-tui", why, hint)] if why else []
