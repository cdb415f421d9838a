"""What puts a state folder or the program out of use: a misplaced file, a full disk, an upgrade under way.

Every path that `Layout` names is examined, so that a new one is included by itself. One that holds a folder, a link, a
device or a second name of a file is misplaced: files of policy fail closed where their own modules read them, the
records in all others are out of reach, and `files` refuses to write them.

An upgrade replaces the files under a running process. What it imports from then on is of another version or missing,
and so are the roles that come with it: it must decide nothing any more, report that and be started again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from lumen_tui.model.problem import Problem
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout

_CLOSED = "until then nothing that it may forbid is done"
_OUT_OF_REACH = "put the file back where there was one; until then nothing can be kept in it"


def policy_files(layout: Layout) -> frozenset[Path]:
    """Return the files that may forbid something: while one cannot be read, nothing that it may forbid is done."""
    return frozenset(
        (layout.kill, layout.pause, layout.pauses, layout.approved_constitution, layout.config, layout.operator)
    )


def misplaced_files(layout: Layout) -> list[Problem]:
    """Return a problem for each misplaced file, with what to do about it."""
    closed = policy_files(layout)
    return [
        Problem(str(path.relative_to(layout.root)), reason, _CLOSED if path in closed else _OUT_OF_REACH)
        for path, reason in _misplaced(layout)
    ]


def unreachable_records(layout: Layout) -> str:
    """Return why the first file of records is out of reach; empty where none is."""
    closed = policy_files(layout)
    return next((reason for path, reason in _misplaced(layout) if path not in closed), "")


def _misplaced(layout: Layout) -> Iterator[tuple[Path, str]]:
    for path in layout.files():
        try:
            status = os.lstat(path)
        except OSError:
            continue  # not there, or its folder is not: that is another problem
        if (not stat.S_ISREG(status.st_mode) or status.st_nlink > 1) and (reason := _refusal(path)):
            yield path, reason


def _refusal(path: Path) -> str:
    try:
        os.close(files.open_plain(path))
    except files.StoreError as error:
        return str(error)
    except OSError:
        pass  # it was removed meanwhile, or is closed to us
    return ""


_LEAST = 64 * 1024  # bytes below which hardly any record has room
_HINT = "free some space there: nothing that was kept is lost, and the engine continues by itself"


def disk_problems(root: Path) -> list[Problem]:
    """Return the full disk as a problem; nothing while there is room, or where the system does not say."""
    try:
        reason = disk_full(os.statvfs(root))
    except OSError:
        return []
    return [Problem("disk", f"{reason}; nothing new can be kept, and the engine cannot work", _HINT)] if reason else []


def disk_full(disk: os.statvfs_result) -> str:
    """Return why the disk is full; the empty string where it is not."""
    is_root = os.geteuid() == 0  # for whom some blocks are reserved
    blocks = disk.f_bfree if is_root else disk.f_bavail
    inodes = disk.f_ffree if is_root else disk.f_favail
    free = blocks * disk.f_frsize
    if disk.f_blocks and free < _LEAST:
        return f"the disk is full ({free // 1024} kB left)"
    return "the disk takes no more files (no inodes left)" if disk.f_files and not inodes else ""


_MARK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__init__.py")
PROGRAM_REPLACED = "the program was replaced while it ran; start it again"


def _program_fingerprint() -> tuple[int, int, int]:
    """Return inode, time and size, which differ in every installation; zeros where there is none."""
    try:
        status = os.stat(_MARK)
    except OSError:
        return 0, 0, 0
    return status.st_ino, status.st_mtime_ns, status.st_size


_STARTED = _program_fingerprint()


def program_replaced() -> str:
    """Return why this process must be started again, or the empty string."""
    return "" if _program_fingerprint() == _STARTED else PROGRAM_REPLACED


def program_problems() -> list[Problem]:
    """Return the replaced program as a problem."""
    reason = program_replaced()
    hint = "leave the room (q) and open it again: it brings an engine of the new program, workers keep running"
    return [Problem("lumen-tui", reason, hint)] if reason else []
