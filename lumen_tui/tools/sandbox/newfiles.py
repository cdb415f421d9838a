"""What is new below the folders that a command may change: how many files, and how many bytes they take.

Nothing in the kernel counts that for one command. So the folders are looked through, a little in each look of the
watch, that it never waits long; and nearly all the time nobody suspects anything, and it is done seldom.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from msgspec import Struct

_FIRST = 2.0  # seconds after the start; most commands have ended by then
_SLICE, _HURRIED_SLICE = 0.005, 0.05  # seconds of one look
_TICK = 0.02  # seconds: files get the time of the kernel's last tick, which was a little earlier
_SHORTEST = 2  # bytes that a name takes of its folder, at least
_REST = 20  # between two times through without hurry, as many times what the first one took


class NewFileTally(Struct):
    """What was found so far this time."""

    files: int = 0  # of one name; folders among them
    links: int = 0  # names of files that have several
    size: int = 0  # bytes of all of these on the disk
    closed: int = 0  # folders that nobody can look into, whatever stands in them


class NewFiles:
    """Counts what was made or changed since now below `tops`, but not below `without`.

    A file's time of change tells, which no program can set. Only folders that were changed themselves have new names.
    """

    def __init__(self, tops: Iterable[str], without: Iterable[str]) -> None:
        self._tops = frozenset(tops)
        self._elsewhere = self._tops.union(without)  # not to be gone into on the way
        self._wall, self._began = time.time(), time.monotonic()
        self._next, self._spent = self._began + _FIRST, 0.0
        self._steps: Iterator[None] | None = None
        self._hurried = False
        self.tally = NewFileTally()

    @property
    def is_through(self) -> bool:
        """Whether the tally is of everything."""
        return self._steps is None

    def look(self, *, hurry: bool) -> NewFileTally:
        """Go on for a moment. Where there is reason to hurry it begins anew, and looks at all files for their size."""
        newly, self._hurried = hurry and not self._hurried, hurry
        if newly or (self.is_through and (hurry or time.monotonic() >= self._next)):
            self.tally, self._spent = NewFileTally(), 0.0
            self._steps = self._through(self.tally, self._since(), every=hurry)
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
        """The start, by a clock that may have been put back meanwhile."""
        return min(self._wall, time.time() - (time.monotonic() - self._began)) - _TICK

    def _through(self, tally: NewFileTally, since: float, *, every: bool) -> Iterator[None]:
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
                continue  # it went meanwhile
            except OSError as error:
                tally.closed += error.errno == errno.ENAMETOOLONG
                _guess(tally, folder, since)


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    """Its files are looked at from here: their whole paths may be too long for that."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _count(tally: NewFileTally, entry: os.DirEntry[str], since: float) -> None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return  # it went meanwhile
    if status.st_ctime < since:
        return
    several = status.st_nlink > 1 and not entry.is_dir(follow_symlinks=False)
    tally.links += several
    tally.files += not several
    tally.size += status.st_blocks * 512 // (status.st_nlink if several else 1)


def _guess(tally: NewFileTally, folder: str, since: float) -> None:
    """Count one that the command may have closed: by its size, where it has no folders in it."""
    try:
        status = os.lstat(folder)
    except OSError:
        return
    if status.st_uid != os.geteuid() or status.st_ctime < since:
        return
    has_folders = status.st_nlink != 2  # some file systems do not tell
    tally.closed += has_folders
    tally.files += 0 if has_folders else status.st_size // _SHORTEST
