"""Locks that are held longer than a single write: the engine's lease, live workers, turns.

The kernel frees a lock with its holder, however that ends; what is written into a lock file is information only.
A journal's own lock, taken for an append, is in `files`.
"""

from __future__ import annotations

import fcntl
import os

from lumen_tui.storage import files


def is_locked(path: files.StrPath) -> bool:
    """Return whether some process holds the exclusive lock on `path`: the evidence that it lives."""
    try:
        fd = os.open(path, os.O_RDONLY | files.COMMON)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False


def _open(path: files.StrPath) -> int:
    with files.failing(path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | files.COMMON, 0o600)
    return files.plain(fd, path)


def try_lock(path: files.StrPath) -> int | None:
    """Take the exclusive lock on `path`; return its descriptor, or None where it is held. Raise StoreError."""
    fd = _open(path)
    try:
        with files.failing(path):
            if _lock_unless_held(fd):
                return fd
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


def _lock_unless_held(fd: int) -> bool:
    """Take the exclusive lock unless somebody holds it; a check by `is_locked` shares it for a moment only."""
    for _ in range(20_000):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            pass
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        fcntl.flock(fd, fcntl.LOCK_UN)
    return False


class waiting_lock:  # noqa: N801 - used like a function
    """`with waiting_lock(path)`: hold the lock on `path`, created where it is missing; wait for it first.

    Raise StoreError where locks are not supported, as on some network file systems.
    """

    kind = fcntl.LOCK_EX

    def __init__(self, path: files.StrPath) -> None:
        self._path = path
        self._fd = -1

    def __enter__(self) -> int:
        self._fd = _open(self._path)
        try:
            with files.failing(self._path):
                fcntl.flock(self._fd, self.kind)
        except BaseException:
            os.close(self._fd)
            raise
        return self._fd

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


class shared_lock(waiting_lock):  # noqa: N801 - used like a function
    """The same lock as many may hold at once, while nobody holds it alone."""

    kind = fcntl.LOCK_SH


def overwrite_locked(fd: int, data: bytes) -> None:
    """Overwrite a locked file in place: for lock files, which must keep their inode."""
    os.pwrite(fd, data, 0)
    os.ftruncate(fd, len(data))
    os.fdatasync(fd)
