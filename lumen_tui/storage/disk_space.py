"""A full disk below the state folder, reported as a problem: an engine that cannot write cannot log it."""

from __future__ import annotations

import os
from pathlib import Path

from lumen_tui.model.snapshot import Problem

_LEAST = 64 * 1024  # bytes below which hardly any record has room
_HINT = "free some space there: nothing that was kept is lost, and the engine goes on by itself"


def problems(root: Path) -> list[Problem]:
    """Return the full disk as a problem; nothing while there is room, or where the system does not say."""
    try:
        reason = full(os.statvfs(root))
    except OSError:
        return []
    return [Problem("disk", f"{reason}; nothing new can be kept, and the engine cannot work", _HINT)] if reason else []


def full(disk: os.statvfs_result) -> str:
    """Return why the disk is full; the empty string where it is not."""
    is_root = os.geteuid() == 0  # for whom some blocks are reserved
    blocks = disk.f_bfree if is_root else disk.f_bavail
    inodes = disk.f_ffree if is_root else disk.f_favail
    free = blocks * disk.f_frsize
    if disk.f_blocks and free < _LEAST:
        return f"the disk is full ({free // 1024} kB left)"
    return "the disk takes no more files (no inodes left)" if disk.f_files and not inodes else ""
