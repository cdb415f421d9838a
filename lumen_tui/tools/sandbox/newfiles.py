"""Counts the new files below the folders that a command may change, and the bytes they take.

The kernel does not count that per command. So the folders are scanned incrementally, a slice in each check of the
watch, and seldom unless there is a suspicion.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from msgspec import Struct

_FIRST = 2.0  # seconds after the start; most commands have ended by then
_SLICE = 0.005  # seconds of one step
_HURRIED_SLICE = 0.05
_TICK = 0.02  # seconds: files get the time of the kernel's last tick, which was a little earlier
_SHORTEST = 2  # bytes that a name takes in its folder, at least
_REST = 20  # the pause between two unhurried scans, as a multiple of what the scan took


class NewFileTally(Struct):
    """The counts of the current scan so far."""

    files: int = 0  # with one name; folders included
    links: int = 0  # names of files that have several names
    size: int = 0  # bytes of all of these on the disk
    closed: int = 0  # folders that cannot be read


class NewFiles:
    """Counts files made or changed from now on below `tops`, but not below `without`.

    It compares ctime, which no program can set. Only folders whose own ctime changed have new names.
    """

    def __init__(self, tops: Iterable[str], without: Iterable[str]) -> None:
        self._tops = frozenset(tops)
        self._elsewhere = self._tops.union(without)  # not entered from another top
        self._wall = time.time()
        self._began = time.monotonic()
        self._next = self._began + _FIRST
        self._spent = 0.0
        self._steps: Iterator[None] | None = None
        self._hurried = False
        self.tally = NewFileTally()

    @property
    def is_through(self) -> bool:
        """Whether the tally is complete."""
        return self._steps is None

    def advance(self, *, hurry: bool) -> NewFileTally:
        """Continue the scan for one slice; in a hurry it starts over and looks at the size of every file."""
        newly, self._hurried = hurry and not self._hurried, hurry
        if newly or (self.is_through and (hurry or time.monotonic() >= self._next)):
            self.tally, self._spent = NewFileTally(), 0.0
            self._steps = self._steps_through(self.tally, self._since(), every=hurry)
        if self._steps is not None:
            self._go_on(self._steps, _HURRIED_SLICE if hurry else _SLICE)
        return self.tally

    def _go_on(self, steps: Iterator[None], seconds: float) -> None:
        began = time.monotonic()
        finished = True
        for _ in steps:
            if time.monotonic() >= began + seconds:
                finished = False
                break
        ended = time.monotonic()
        self._spent += ended - began
        if finished:
            self._steps, self._next = None, ended + _REST * self._spent

    def _since(self) -> float:
        """Return the time of the start by the wall clock, which may have been set back meanwhile."""
        return min(self._wall, time.time() - (time.monotonic() - self._began)) - _TICK

    def _steps_through(self, tally: NewFileTally, since: float, *, every: bool) -> Iterator[None]:
        pending = list(self._tops)
        while pending:
            yield
            folder = pending.pop()
            try:
                with _opened(folder) as fd, os.scandir(fd) as entries:
                    looked_at = every or os.fstat(fd).st_ctime >= since
                    for entry in entries:
                        path = os.path.join(folder, entry.name)
                        if entry.is_dir(follow_symlinks=False) and path not in self._elsewhere:
                            pending.append(path)
                        if looked_at:
                            _count(tally, entry, since)
                        yield
            except (FileNotFoundError, NotADirectoryError):
                continue  # removed meanwhile
            except OSError as error:
                tally.closed += error.errno == errno.ENAMETOOLONG
                _guess(tally, folder, since)


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    """Open a folder to stat its entries from there: their full paths may be too long."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _count(tally: NewFileTally, entry: os.DirEntry[str], since: float) -> None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return  # removed meanwhile
    if status.st_ctime < since:
        return
    several = status.st_nlink > 1 and not entry.is_dir(follow_symlinks=False)
    tally.links += several
    tally.files += not several
    tally.size += status.st_blocks * 512 // (status.st_nlink if several else 1)


def _guess(tally: NewFileTally, folder: str, since: float) -> None:
    """Estimate the files of an unreadable folder of the command from its size, where it has no subfolders."""
    try:
        status = os.lstat(folder)
    except OSError:
        return
    if status.st_uid != os.geteuid() or status.st_ctime < since:
        return
    has_folders = status.st_nlink != 2  # some file systems do not tell
    tally.closed += has_folders
    tally.files += 0 if has_folders else status.st_size // _SHORTEST
