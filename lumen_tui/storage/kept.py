"""Columns made of journals, kept in one file of index/: the next process goes on where the last one stopped.

A file is keyed to each journal by device, inode, the part that was taken in and checksums of both ends of that part;
where any of these differ the journals are read again. It is replaced as a whole, so that readers and killed writers do
no harm, and never synced: what a power cut leaves of it fails its checksums.

On the path of the hot verbs: it imports nothing that they would not load anyway.
"""

from __future__ import annotations

import os
import zlib

from lumen_tui.model import jsontext
from lumen_tui.storage import directories, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Protocol

    class JournalSource(Protocol):
        """A follower of a journal, as far as a kept file needs one."""

        offset: int

        def mark(self) -> Mark: ...
        def take_up(self, mark: Mark) -> bool: ...
        def start_over(self) -> None: ...

    Place = tuple[int, int, int, int, int]  # device, inode, end of what was read, checksums of both ends
    Mark = list[int]  # as Follower.mark gives it
    Column = array[int] | array[float] | bytes | bytearray

_MAGIC = b"lumen-columns"
_EDGE = 4096  # bytes checked at each end of the known part
_LARGEST = 1 << 32
_HEAD = 16 * 1024 * 1024  # bytes of its first line


class NotUsable(Exception):
    """A kept file that is no longer of use; the text says why."""


def part_hashes(fd: int, end: int) -> tuple[int, int]:
    """Return the checksums of the first and of the last bytes of the part that ends at `end`."""
    size = min(_EDGE, end)
    return zlib.crc32(os.pread(fd, size, 0)), zlib.crc32(os.pread(fd, size, end - size))


def place_of(fd: int, end: int) -> Place:
    """Return what identifies the part of an open journal that ends at `end`."""
    status = os.fstat(fd)
    return (status.st_dev, status.st_ino, end, *part_hashes(fd, end))


def is_same_part(fd: int, known: Place) -> bool:
    """Return whether the open journal still begins with the part that was taken in."""
    status = os.fstat(fd)
    dev, ino, end, *hashes = known
    if (dev, ino) != (status.st_dev, status.st_ino) or not 0 <= end <= status.st_size:
        return False
    return part_hashes(fd, end) == tuple(hashes)


class Kept:
    """The content of one file: where it stands in each journal, plain values, and columns of bytes."""

    def __init__(self, marks: Mapping[str, Mark], values: jsontext.Raw, columns: Mapping[str, memoryview]) -> None:
        self.marks = marks
        self.values = values
        self.columns = columns


def write(
    path: files.StrPath, version: int, marks: Mapping[str, Mark], values: jsontext.Raw, columns: Mapping[str, Column]
) -> None:
    """Replace the file. Raise StoreError; readers then go on with what was there."""
    data_of = {name: memoryview(column).cast("B") for name, column in columns.items()}
    head = {
        "version": version,
        "marks": dict(marks),
        "values": values,
        "columns": [[name, len(data), zlib.crc32(data)] for name, data in data_of.items()],
    }
    first = jsontext.dumps(head).encode()
    lines: list[bytes | memoryview] = [b"%s %08x %s\n" % (_MAGIC, zlib.crc32(first), first), *data_of.values()]

    def write_parts(fd: int) -> None:
        for data in lines:
            files.write_all(fd, data)

    files.take_place(files.write_sibling(path, write_parts, durable=False), path, durable=False)


def read(path: files.StrPath, version: int | None = None) -> Kept | None:
    """Return the content, of this version where one is given; None where there is no such file.

    Raise NotUsable where it is damaged or of another version, StoreError or OSError where it cannot be read.
    """
    data = files.read(path, _LARGEST)
    if data is None:
        return None
    end = data.find(b"\n", 0, _HEAD)
    magic, _, checksum_and_head = data[: max(end, 0)].partition(b" ")
    checksum, _, first = checksum_and_head.partition(b" ")
    head = jsontext.decode(first) if magic == _MAGIC and checksum == b"%08x" % zlib.crc32(first) else None
    if head is None:
        raise NotUsable("is damaged")
    if version not in (None, head.get("version")):
        raise NotUsable("was made by another version")
    return Kept(
        head["marks"],
        head["values"],
        _columns(memoryview(data), end + 1, head["columns"]),
    )


def _columns(data: memoryview, begin: int, parts: list[list[int]]) -> dict[str, memoryview]:
    columns = {}
    for name, size, checksum in parts:
        column = data[begin : begin + size]
        if len(column) != size or zlib.crc32(column) != checksum:
            raise NotUsable("is damaged")
        columns[str(name)] = column
        begin += size
    return columns


class KeptIndex:
    """The kept file of one index that follows journals, and when to write it again."""

    LEAST = 256 * 1024  # bytes of journals that are rather read again than kept

    def __init__(self, path: Path, version: int, followers: Mapping[str, JournalSource]) -> None:
        self.path = path
        self._version = version
        self._followers = followers
        self._known = 0  # bytes of the journals that the file covers
        self.news = ""  # why a kept file was of no use, for a person

    def load(self) -> Kept | None:
        """Return what is kept, and let the followers go on behind it; None where there is nothing of use."""
        try:
            stored = read(self.path, self._version)
            if stored is not None and not self._take_up(stored):
                raise NotUsable("is of journals that were replaced or changed")
        except NotUsable as error:
            self.news = f"index/{self.path.name} {error}: it is made again"
            return None
        except (files.StoreError, OSError) as error:
            self.news = f"index/{self.path.name} cannot be read ({error}): all is counted"
            return None
        self._known = self._size()
        return stored

    def _take_up(self, stored: Kept) -> bool:
        if stored.marks.keys() != self._followers.keys():
            return False
        if all(follower.take_up(stored.marks[name]) for name, follower in self._followers.items()):
            return True
        for follower in self._followers.values():
            follower.start_over()
        return False

    def _size(self) -> int:
        return sum(follower.offset for follower in self._followers.values())

    def marks(self) -> dict[str, Mark]:
        """Return what identifies the part of each journal that was read."""
        return {name: follower.mark() for name, follower in self._followers.items()}

    def due(self) -> bool:
        """Return whether so much was read since the file was written that it is worth another one."""
        return abs(self._size() - self._known) >= self.LEAST

    def save(self, values: jsontext.Raw, columns: Mapping[str, Column]) -> bool:
        """Write the file and return whether it stands; where the folder takes none, all is counted the next time."""
        self._known = self._size()
        try:
            directories.make_folder(self.path.parent)  # whoever deletes it may go on
            marks = self.marks()
            if any(follower.offset and not marks[name] for name, follower in self._followers.items()):
                return False  # in the middle of a line that is too long
            write(self.path, self._version, marks, values, columns)
        except (files.StoreError, OSError):
            return False
        return True
