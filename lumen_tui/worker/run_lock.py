"""The lock of a task, as it is handed to the process that works at it: its worker, or the proxy of one elsewhere."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from lumen_tui.storage import locks

LOCK_VARIABLE = "LUMEN_LOCK_FD"


class NoLock(Exception):
    """Another worker has this task, or the lock that was handed over is not one."""


def take_lock(folder: Path, environ: dict[str, str]) -> int:
    """Return the descriptor that holds run.lock: the inherited one, else a new one. Raises NoLock."""
    path = folder / "run.lock"
    inherited = environ.pop(LOCK_VARIABLE, "")
    os.environ.pop(LOCK_VARIABLE, None)
    if not inherited:
        fd = locks.try_lock(path)
        if fd is None:
            raise NoLock(f"{path} is held: a worker is at this task already")
        return fd
    try:
        fd = int(inherited)
        os.set_inheritable(fd, False)
        mine, there = os.fstat(fd), os.stat(path, follow_symlinks=False)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ValueError, OSError) as error:
        raise NoLock(f"{LOCK_VARIABLE}={inherited} does not hold {path}: {error}") from error
    if (mine.st_dev, mine.st_ino) != (there.st_dev, there.st_ino):
        raise NoLock(f"{LOCK_VARIABLE}={inherited} is another file than {path}")
    return fd
