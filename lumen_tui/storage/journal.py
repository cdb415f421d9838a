"""Journals: append-only files of JSON lines, followed and never re-read.

A `Follower` goes on within one process; `lines_after` with a cursor that survives restarts and rewrites.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import backwards, files, kept
from lumen_tui.storage.line_access import split_lines

PIECE = 1024 * 1024  # bytes that a reader polls at a time: the allocator keeps what was once held
_READ_CHUNK = 256 * 1024
_encode = msgspec.json.Encoder().encode
T = TypeVar("T")


def encode(record: object, most: int = files.MAX_LINE) -> bytes:
    """Encode one record as one line of at most so many bytes. Raise files.LineTooLong."""
    return files.journal_line(_encode(record), most)


class Journal:
    """One append-only file to which many processes may append at once without losing a line."""

    def __init__(self, path: Path, most: int = files.MAX_LINE) -> None:
        """Take lines of at most so many bytes."""
        self.path = path
        self._most = most

    def append(self, record: object) -> int:
        """Append a record durably and return the offset of its line. Raise files.StoreError."""
        return files.append(self.path, encode(record, self._most))

    def append_all(self, records: Iterable[object]) -> int:
        """Append several records with one sync and return how many."""
        lines = [encode(record, self._most) for record in records]
        if lines:
            files.append(self.path, b"".join(lines))
        return len(lines)

    def lines(self) -> Iterator[bytes]:
        """Yield every whole line there is now, without its newline."""
        try:
            fd = files.open_plain(self.path)
        except FileNotFoundError:
            return
        try:
            yield from whole_lines(fd)
        finally:
            os.close(fd)

    def records(self, kind: type[T]) -> Iterator[T]:
        """Yield the record of each line; damaged lines and those of another kind are skipped."""
        decode = msgspec.json.Decoder(kind).decode
        for line in self.lines():
            try:
                record = decode(line)
            except UNDECODABLE:
                continue
            yield record

    def rewrite(self, change: Callable[[Iterator[bytes]], Iterable[bytes]]) -> None:
        """Replace the content by `change(lines)`, under the lock that appends take.

        `change` gets the lines of that moment, so that nothing appended meanwhile is lost.
        """
        from lumen_tui.storage import seals  # its hashes are for who rewrites alone

        with files.locked_log(self.path) as fd:
            temporary = files.write_sibling(
                self.path, lambda out: _write_lines(out, change(whole_lines(fd, torn=True)))
            )
            seals.NewContent(temporary, self.path).take_place()


def _write_lines(fd: int, lines: Iterable[bytes]) -> None:
    batch: list[bytes] = []
    for line in lines:
        batch.append(line + b"\n")
        if len(batch) >= 1000:
            files.write_all(fd, b"".join(batch))
            batch.clear()
    files.write_all(fd, b"".join(batch))


def whole_lines(fd: int, *, torn: bool = False) -> Iterator[bytes]:
    """Yield the whole lines of an open file from its beginning; with `torn` the unfinished last one as well."""
    position = 0
    parts: list[bytes] = []  # of the line that is not finished yet; joined once, however long it is
    while chunk := os.pread(fd, _READ_CHUNK, position):
        position += len(chunk)
        first, *more = chunk.split(b"\n")
        parts.append(first)
        if more:
            yield b"".join(parts)
            yield from more[:-1]
            parts = [more[-1]]
    if torn and any(parts):
        yield b"".join(parts)


class Follower:
    """A reader of what was added to a journal since the last call, by inode and offset.

    `generation` grows whenever the file was replaced or cut: everything read before is void then,
    and the next `poll` begins at its first line. With `end` nothing from that offset on is read.
    """

    def __init__(self, path: Path, end: int | None = None) -> None:
        self.path = path
        self._end = end
        self.generation = 0
        self.offset = 0  # of the next unread line
        self.size = 0  # of the file at the last `stat`
        self.overlong: list[int] = []  # offsets of lines beyond MAX_READ_LINE, skipped
        self._identity: tuple[int, int] | None = None
        self._skipping = False
        self._has_more = False  # whether the limit of the last poll left something unread
        self._fd = -1  # stays open: else the inode number of a replaced file could be reused

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, at the end of all following: from here on its inode number may be reused."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def open_copy(self) -> int:
        """Return another descriptor of the very file that was read last, whatever is at the path by now."""
        return os.dup(self._fd)

    def changed(self) -> bool:
        """Return whether there may be something new: one `stat`, no read."""
        identity, size = self._stat()
        return identity != self._identity or size != self.size

    def pending(self) -> bool:
        """Return whether a poll may give something: new bytes, or bytes beyond the limit of the last one."""
        identity, size = self._stat()
        return identity != self._identity or size != self.size or self._has_more

    def place(self) -> tuple[int, int, int]:
        """Return the position for `resume`: device, inode, offset."""
        return (*(self._identity or (0, 0)), self.offset)

    def resume(self, place: tuple[int, int, int]) -> None:
        """Go on at the position of an earlier follower. On another file it begins at the first line."""
        self._identity = place[:2]
        self.offset = place[2]

    def mark(self) -> list[int]:
        """Return what identifies the part that was read, for `take_up` in another process; empty for nothing."""
        if self._fd < 0 or self._skipping or not self.offset:
            return []
        status = os.fstat(self._fd)
        return [*kept.place_of(self._fd, self.offset), status.st_size, status.st_mtime_ns]

    def take_up(self, mark: list[int]) -> bool:
        """Go on behind the part that an earlier follower read; return False where the file is no longer that one."""
        if not mark:
            return True
        *place, size, changed = mark
        try:
            fd = files.open_plain(self.path)
        except (files.StoreError, OSError):
            return False
        status = os.fstat(fd)
        edited = status.st_size == size and status.st_mtime_ns != changed  # as long as before, and not appended to
        if edited or not kept.is_same_part(fd, (place[0], place[1], place[2], place[3], place[4])):
            os.close(fd)
            return False
        self.close()
        self._fd = fd
        self._identity = (place[0], place[1])
        self.offset = self.size = place[2]
        return True

    def _stat(self) -> tuple[tuple[int, int] | None, int]:
        try:
            status = os.stat(self.path, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None, 0
        if not stat.S_ISREG(status.st_mode):
            return None, 0  # what replaced it holds none of its lines: misplaced.py reports it
        size = status.st_size if self._end is None else min(status.st_size, self._end)
        return (status.st_dev, status.st_ino), size

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """Yield what is new as (offset, whole lines), in pieces, so that a long journal is never held whole."""
        while self.pending():
            offset, data = self.poll(PIECE)
            if not data:
                return
            yield offset, data

    def poll(self, limit: int = 1 << 62) -> tuple[int, bytes]:
        """Return new whole lines as (offset, bytes), at most about `limit` bytes; call again until it is empty.

        A torn last line is not read until its newline comes.
        """
        identity, size = self._stat()
        if identity != self._identity or size < self.offset:
            self._restart(identity)
        self.size = size
        while self.offset < size and self._open():
            before = self.offset
            offset, data = self._read(self._fd, min(limit, size - before))
            if data or self.offset == before:
                self._has_more = bool(data) and self.offset < size
                return offset, data
        self._has_more = False
        return self.offset, b""

    def _open(self) -> bool:
        """Return whether the file of the last `stat` is open; False where it was replaced since."""
        if self._fd >= 0:
            return True
        try:
            fd = files.open_plain(self.path)
        except FileNotFoundError:
            return False
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) != self._identity:
            os.close(fd)
            return False
        self._fd = fd
        return True

    def start_over(self) -> None:
        """Forget the file, as a new follower knows none."""
        self.close()
        self._identity = None
        self.offset = self.size = 0
        self._skipping = self._has_more = False
        self.overlong.clear()

    def rewind(self) -> None:
        """Begin at the first line again, as if the file had been replaced."""
        self._restart(None)

    def _restart(self, identity: tuple[int, int] | None) -> None:
        self.close()
        if self._identity is not None or identity is None:
            self.generation += 1
        self._identity = identity
        self.offset = 0
        self._skipping = False
        self.overlong.clear()

    def _read(self, fd: int, limit: int) -> tuple[int, bytes]:
        begin = self.offset
        data = os.pread(fd, limit, begin)
        if b"\n" not in data:  # a torn tail, or a line longer than the limit
            data = os.pread(fd, files.MAX_READ_LINE + 1, begin)
        end = data.rfind(b"\n") + 1
        if end == 0:
            return self._pass_over(begin, data)
        if self._skipping:  # the rest of an overlong line
            self._skipping = False
            first = data.find(b"\n") + 1
            self.offset = begin + end
            return begin + first, data[first:end]
        self.offset = begin + end
        return begin, data[:end]

    def _pass_over(self, begin: int, data: bytes) -> tuple[int, bytes]:
        """Handle data without a newline: a torn tail, or a line too long to hold in memory."""
        if len(data) > files.MAX_READ_LINE:
            if not self._skipping:
                self.overlong.append(begin)
            self._skipping = True
            self.offset = begin + len(data)
        return self.offset, b""


_FIRST = 4 * 1024 * 1024  # bytes that a reader without a cursor reads of a long journal


def lines_after(path: Path, cursor: dict[str, object]) -> tuple[Iterator[tuple[int, bytes]], dict[str, object]]:
    """Return the whole lines after `cursor` with their offsets, one by one, and the cursor after them.

    An empty cursor begins at the first line, in a long journal 4 MiB before its end. After a rewrite the position is
    recovered from the last line's own bytes (`last`); where that line is gone too, from its date: what is older counts
    as read.
    """
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return iter(()), cursor
    try:
        status = os.fstat(fd)
        start = _start(fd, status, cursor)
        data = os.pread(fd, max(0, status.st_size - start), start)
    finally:
        os.close(fd)
    data = data[: data.rfind(b"\n") + 1]
    whole = data.rstrip(b"\n")
    last = whole[whole.rfind(b"\n") + 1 :][:200].decode(errors="ignore") if whole else cursor.get("last", "")
    return split_lines(data, start), {"ino": status.st_ino, "offset": start + len(data), "last": last}


def _start(fd: int, status: os.stat_result, cursor: dict[str, object]) -> int:
    offset = cursor.get("offset", 0)
    if not isinstance(offset, int) or not cursor:
        return _line_from(fd, status.st_size - _FIRST)
    if cursor.get("ino") == status.st_ino and offset <= status.st_size:
        return offset
    return _after_line(fd, str(cursor.get("last", "")).encode())


def _line_from(fd: int, offset: int) -> int:
    """Return the offset of the first line that begins after `offset`; 0 where that is negative."""
    if offset <= 0:
        return 0
    return offset + os.pread(fd, files.MAX_READ_LINE, offset).find(b"\n") + 1


def _after_line(fd: int, last: bytes) -> int:
    """Return the offset after the line that begins with `last`, or after the newest line that is not younger than it.

    Searched from the end, in blocks: after the clean-up of a million signals it is close to the end.
    """
    for start, block in backwards.blocks(fd) if last else ():
        begin = (b"\n" + block).rfind(b"\n" + last)
        if begin >= 0:
            return start + block.index(b"\n", begin) + 1
    date = _date(last)
    for offset, line in backwards.lines(fd):
        if line and (not date or _date(line) <= date):
            return offset + len(line) + 1
    return 0


def _date(line: bytes) -> bytes:
    """Return the date of a record as written; ISO-8601 in UTC sorts as text."""
    return line.partition(b'"created_at":')[2].strip(b' "')[:24]
