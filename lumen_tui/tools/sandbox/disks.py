"""What one command may leave on the disks where it writes: so many bytes, and so many files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from lumen_tui.tools.sandbox.descriptors import OpenDescriptor, statuses
from lumen_tui.tools.sandbox.newfiles import NewFiles, NewFileTally
from lumen_tui.tools.sandbox.usage import ResourceUsage

MIB = 1024 * 1024
# What bubblewrap gives each command for its own, in memory.
PRIVATE_TMP = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108
_LEAST_FREE = 96 * MIB
_LEAST_FILES = 10_000
_DELETED = " (deleted)"


class DiskSpace(NamedTuple):
    """What a file system still takes; -1 where it does not say."""

    size: int = -1  # bytes
    files: int = -1


class Disks:
    """Others write as well, so both must be true: the disk has less room, and the command made that of it."""

    def __init__(self, roots: Iterable[str], without: Iterable[str], size: int, files: int) -> None:
        """`size` bytes and `files` files are the most; what stands below `without` is not the command's."""
        self._most = DiskSpace(size, files)
        roots = tuple(roots)
        places = {_device(path): path for path in roots}.values()
        self._rooms = {path: room for path in places if (room := _room(path)).size >= 0}
        self._untold = any(room.files < 0 for room in self._rooms.values())
        self._new = NewFiles(roots, without)
        self._began: DiskSpace | None = None  # what the disks had taken when the count began that goes on
        self._counted = (
            DiskSpace(0, 0),
            DiskSpace(0, 0),
        )  # what the last count found, and what they had taken at its beginning

    def exceeded(self, used: ResourceUsage, open_files: Iterable[OpenDescriptor]) -> str:
        """Why the command has to end, or empty. Asked in every look."""
        spaces = [(before, _room(path)) for path, before in self._rooms.items()]
        size = _allowed([(before.size, now.size) for before, now in spaces], self._most.size, _LEAST_FREE)
        files = _allowed([(before.files, now.files) for before, now in spaces], self._most.files, _LEAST_FILES)
        consumed = DiskSpace(
            sum(before.size - now.size for before, now in spaces),
            sum(before.files - now.files for before, now in spaces),
        )
        tally = self._count(consumed, size if used.children_unaccounted else 0, files)
        written = (
            max(used.written, tally.size + _deleted(open_files)) if size and used.children_unaccounted else used.written
        )
        if size and written > size:
            return f"it filled the disk: it wrote {written // MIB:,} MiB, and may write {self._most.size // MIB:,}"
        new_names = tally.links + (tally.files if files or self._untold else 0)
        if new_names > (files or self._most.files) or (files and tally.closed):
            return self.too_many_files
        return ""

    def _count(self, consumed: DiskSpace, size: int, files: int) -> NewFileTally:
        """Go on counting, in a hurry where the command may have made too much: in all that was taken since the last
        count began, and what that had found."""
        counted, consumed_then = self._counted
        hurry = bool(files and counted.files + consumed.files - consumed_then.files > files)
        hurry = hurry or bool(size and counted.size + consumed.size - consumed_then.size > size)
        self._began = (self._began or consumed) if hurry else None
        tally = self._new.look(hurry=hurry)
        if self._began and self._new.is_through:
            self._counted, self._began = (DiskSpace(tally.size, tally.files + tally.links), self._began), None
        return tally

    def exceeded_in_memory(self, pids: Iterable[int]) -> str:
        """The same for what it has in its own folders in memory, of which nobody else makes anything."""
        return self.too_many_files if _in_memory(pids) > self._most.files else ""

    @property
    def too_many_files(self) -> str:
        """The reason with what to do."""
        return (
            f"it made too many files: a command may make {self._most.files:,}, and not all that the disk takes. Make "
            "fewer at a time, or let the operator raise [sandbox] files in lumen.toml"
        )


def _allowed(spaces: list[tuple[int, int]], limit: int, floor: int) -> int:
    """The most that the command may have taken where some room, before and now, got smaller by more than `most`, or
    leaves hardly any; 0 where none did."""
    limits = []
    for before, current in spaces:
        short = min(before, floor) // 2
        if before >= 0 and current >= 0 and (before - current > limit or current < short):
            limits.append(min(limit, max(0, short - current) or limit))
    return min(limits, default=0)


def _room(path: str) -> DiskSpace:
    try:
        status = os.statvfs(path)
    except OSError:
        return DiskSpace()
    return DiskSpace(status.f_bavail * status.f_frsize, status.f_ffree if status.f_files else -1)


def _in_memory(pids: Iterable[int]) -> int:
    """How many files and names of files it has there; each takes memory of the kernel, and none of a process's."""
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
    """The number of the file system there, 0 where that cannot be told."""
    try:
        return os.stat(path).st_dev
    except OSError:
        return 0


def _deleted(open_files: Iterable[OpenDescriptor]) -> int:
    """Bytes of files that have no name any more and are open still."""
    files = statuses(file for file in open_files if file.path.endswith(_DELETED))
    return sum({(status.st_dev, status.st_ino): status.st_blocks * 512 for status in files}.values())
