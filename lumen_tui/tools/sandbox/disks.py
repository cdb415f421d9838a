"""Limits on what one command may leave on the disks where it writes: bytes and files.

The kernel counts neither per command. So the folders are scanned for new files incrementally, a slice in each check of
the watch, and seldom unless there is a suspicion.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from msgspec import Struct

from lumen_tui.tools.sandbox.usage import OpenDescriptor, ResourceUsage, statuses

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


MIB = 1024 * 1024
# Folders that bubblewrap mounts in memory, privately for each command.
PRIVATE_TMP = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108
_LEAST_FREE = 96 * MIB
_LEAST_FILES = 10_000


class DiskSpace(NamedTuple):
    """Free space of a file system; -1 where it does not tell."""

    size: int = -1  # bytes
    files: int = -1


class Disks:
    """Watches the disks of one command.

    Others write there as well, so both must hold: the disk has less space, and the command wrote that much.
    """

    def __init__(self, roots: Iterable[str], without: Iterable[str], size: int, files: int) -> None:
        """At most `size` bytes and `files` files may be made; what is below `without` does not count."""
        self._most = DiskSpace(size, files)
        roots = tuple(roots)
        places = {_device(path): path for path in roots}.values()
        self._spaces = {path: room for path in places if (room := _space(path)).size >= 0}
        self._files_unknown = any(room.files < 0 for room in self._spaces.values())
        self._new = NewFiles(roots, without)
        self._began: DiskSpace | None = None  # consumed when the current count began
        self._counted = (DiskSpace(0, 0), DiskSpace(0, 0))  # the last count, and consumed when it began

    def exceeded(self, used: ResourceUsage, open_files: Iterable[OpenDescriptor]) -> str:
        """Return why the command must end, or empty. Called in every check of the watch."""
        spaces = [(before, _space(path)) for path, before in self._spaces.items()]
        size = _allowed([(before.size, now.size) for before, now in spaces], self._most.size, _LEAST_FREE)
        files = _allowed([(before.files, now.files) for before, now in spaces], self._most.files, _LEAST_FILES)
        consumed = DiskSpace(
            sum(before.size - now.size for before, now in spaces),
            sum(before.files - now.files for before, now in spaces),
        )
        tally = self._count(consumed, size if used.children_unaccounted else 0, files)
        written = used.written
        if size and used.children_unaccounted:
            written = max(written, tally.size + _deleted_bytes(open_files))
        if size and written > size:
            return f"it filled the disk: it wrote {written // MIB:,} MiB, and may write {self._most.size // MIB:,}"
        new_names = tally.links + (tally.files if files or self._files_unknown else 0)
        if new_names > (files or self._most.files) or (files and tally.closed):
            return self.too_many_files
        return ""

    def _count(self, consumed: DiskSpace, size: int, files: int) -> NewFileTally:
        """Continue counting new files, in a hurry where the last count and the space consumed since exceed a limit."""
        counted, consumed_then = self._counted
        hurry = bool(files and counted.files + consumed.files - consumed_then.files > files)
        hurry = hurry or bool(size and counted.size + consumed.size - consumed_then.size > size)
        self._began = (self._began or consumed) if hurry else None
        tally = self._new.advance(hurry=hurry)
        if self._began and self._new.is_through:
            self._counted, self._began = (DiskSpace(tally.size, tally.files + tally.links), self._began), None
        return tally

    def exceeded_in_memory(self, pids: Iterable[int]) -> str:
        """Return the same for the private folders in memory, where nobody else writes."""
        return self.too_many_files if _files_in_tmp(pids) > self._most.files else ""

    @property
    def too_many_files(self) -> str:
        """The reason for the end, with what to do."""
        return (
            f"it made too many files: a command may make {self._most.files:,}, and not all that the disk takes. Make "
            "fewer at a time, or let the operator raise [sandbox] files in lumen.toml"
        )


def _allowed(spaces: list[tuple[int, int]], limit: int, floor: int) -> int:
    """Return how much the command may have consumed where the free space of some disk shrank by more than `limit` or
    is nearly used up; 0 where no disk did. `spaces` are pairs of free space before and now."""
    limits = []
    for before, current in spaces:
        short = min(before, floor) // 2
        if before >= 0 and current >= 0 and (before - current > limit or current < short):
            limits.append(min(limit, max(0, short - current) or limit))
    return min(limits, default=0)


def _space(path: str) -> DiskSpace:
    try:
        status = os.statvfs(path)
    except OSError:
        return DiskSpace()
    return DiskSpace(status.f_bavail * status.f_frsize, status.f_ffree if status.f_files else -1)


def _files_in_tmp(pids: Iterable[int]) -> int:
    """Count files in the private tmpfs mounts: each takes kernel memory that no process accounts for."""
    file_counts = {}
    outside = {0, *map(_device, PRIVATE_TMP)}
    for pid in pids:
        for path in (f"/proc/{pid}/root{own}" for own in PRIVATE_TMP):
            if (device := _device(path)) in outside or device in file_counts:
                continue
            try:
                status = os.statvfs(path)
            except OSError:
                continue
            file_counts[device] = status.f_files - status.f_ffree
    return sum(file_counts.values())


def _device(path: str) -> int:
    """Return the device number of the file system at a path, 0 where that is unknown."""
    try:
        return os.stat(path).st_dev
    except OSError:
        return 0


def _deleted_bytes(open_files: Iterable[OpenDescriptor]) -> int:
    """Return the bytes of deleted files that are still open."""
    files = statuses(file for file in open_files if file.path.endswith(" (deleted)"))
    return sum({(status.st_dev, status.st_ino): status.st_blocks * 512 for status in files}.values())
