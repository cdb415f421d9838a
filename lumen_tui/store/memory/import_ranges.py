"""For undo: the lines that an import appended to a journal are found again, and removed if nothing builds on them."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Set
from pathlib import Path
from typing import NamedTuple

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.digests import sha256
from lumen_tui.storage import files, rewriting
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.nodes import Raw

_FIRST = 300  # bytes of the first line by which a range is found after the journal was rewritten
_STAMPS = ("updated_at", "updated_by")


class LineRange(msgspec.Struct):
    """Consecutive lines in a journal: their offset and size in bytes, their hash, and how the first begins."""

    at: int
    size: int
    sha256: str
    first: str


def range_of(data: bytes, at: int) -> LineRange:
    """Return what tells these whole lines, which are or will be at this offset, from all others."""
    return LineRange(at, len(data), sha256(data), data[:_FIRST].decode(errors="replace"))


def find_range(path: Path, lines_wanted: LineRange) -> int:
    """Return the offset of the lines now; -1 where they are no longer together."""
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return -1
    try:
        if not os.fstat(fd).st_size:
            return -1
        with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as data:
            return _find(data, lines_wanted)
    finally:
        os.close(fd)


def _find(data: mmap.mmap, lines_wanted: LineRange) -> int:
    at = lines_wanted.at
    first = lines_wanted.first.encode()
    while at >= 0:
        if sha256(data[at : at + lines_wanted.size]) == lines_wanted.sha256:
            return at
        at = data.find(first, 0 if at == lines_wanted.at else at + 1)
        if at == lines_wanted.at:
            at = data.find(first, at + 1)
    return -1


class Later(NamedTuple):
    """What later lines say about the records of a range."""

    changed: str = ""  # the id of one that differs from what was imported
    again: frozenset[str] = frozenset()  # those that are as imported: changes to them were undone
    end: int = 0  # up to which offset the journal was read


def later_changes(path: Path, at: int, size: int) -> Later:
    """Return what builds on the range at this place."""
    fd = files.open_plain(path)
    try:
        came = os.pread(fd, size, at)
        behind = os.pread(fd, os.fstat(fd).st_size - at - size, at + size)
    finally:
        os.close(fd)
    end = at + size + len(behind)
    both = {name.decode(errors="replace") for name in nodes.ids_in(came) & nodes.ids_in(behind)}
    if not both:
        return Later(end=end)
    first = _newest(came, both)
    last = _newest(behind, both)
    changed = next((name for name in sorted(both) if name not in last or first.get(name) != last[name]), "")
    return Later(changed, frozenset(both), end)


def _newest(lines: bytes, names: Set[str]) -> dict[str, Raw]:
    """Return the newest state of these records, without who changed them and when."""
    records = {}
    for line in lines.splitlines():
        record = _record(line)
        if record is not None and (record_id := str(record.get("id"))) in names:
            records[record_id] = {
                key: value for key, value in record.items() if key not in _STAMPS and value not in ({}, "")
            }
    return records


def _record(line: bytes) -> Raw | None:
    try:
        record = msgspec.json.decode(line)
    except UNDECODABLE:
        return None
    return record if isinstance(record, dict) else None


def cut_range(path: Path, at: int, size: int, changes: Later) -> None:
    """Remove the range, and later lines that repeat its records.

    Raise rewriting.JournalReplaced where the journal was replaced meanwhile.
    """
    position = 0

    def without(blocks: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal position
        for block in blocks:
            begin = max(0, at - position)
            end = max(0, at + size - position)
            following = block[end:]
            examined = max(0, changes.end - position - min(end, len(block)))
            position += len(block)
            repeated = following[:examined]
            newer = following[examined:]
            yield block[:begin] + (_not_of(repeated, changes.again) if changes.again else repeated) + newer

    rewriting.beside(path, without)


def _not_of(lines: bytes, names: Set[str]) -> bytes:
    return b"".join(
        [line for line in lines.splitlines(keepends=True) if str((_record(line) or {}).get("id")) not in names]
    )
