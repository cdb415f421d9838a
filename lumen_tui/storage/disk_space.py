"""Whether the disk of the state folder still takes anything: an engine that cannot write cannot say so either."""

from __future__ import annotations

import os
from pathlib import Path

from lumen_tui.model.snapshot import Problem

_LEAST = 64 * 1024  # bytes below which hardly any record has room
_HINT = "free some space there: nothing that was kept is lost, and the engine goes on by itself"


def problems(root: Path) -> list[Problem]:
    """The disk as one of the things that are wrong; nothing while there is room, or where it cannot be asked."""
    try:
        why = full(os.statvfs(root))
    except OSError:
        return []
    return [Problem("disk", f"{why}; nothing new can be kept, and the engine cannot work", _HINT)] if why else []


def full(found: os.statvfs_result) -> str:
    """Why a disk takes nothing more; the empty string where it does."""
    blocks, names = (found.f_bfree, found.f_ffree) if os.geteuid() == 0 else (found.f_bavail, found.f_favail)
    left = blocks * found.f_frsize
    if found.f_blocks and left < _LEAST:
        return f"the disk is full ({left // 1024} kB left)"
    return "the disk takes no more files (no inodes left)" if found.f_files and not names else ""
