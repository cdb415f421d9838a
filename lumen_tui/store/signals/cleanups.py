"""What a cleanup of signals took out, kept beside it for undo: the journals as they were, and which lines left.

Going back is a merge of three: the journal as it was, without what was taken out of it since, and behind it what came
since. So every signal has its place again, before or behind the one up to which somebody has read. The last few
cleanups are kept so, of journals that are not too large; where that is not so, `memory/archive.jsonl` has the signals.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import Receipt
from lumen_tui.storage import directories, files, locks, rewriting
from lumen_tui.storage.layout import Layout
from lumen_tui.store.signals.read_state import decode_receipt, slim
from lumen_tui.store.signals.retention import NO_SIGNAL, CleanupCounts, RetentionResult

MOST = 5  # cleanups that are kept
MOST_BYTES = 32 * 1024 * 1024  # of both journals, beside one cleanup; of all together twice as much
_LARGEST = 2 * MOST_BYTES
_ATTEMPTS = 5  # another rewrite came between
_SIGNALS, _RECEIPTS, _RECORD = "signals.jsonl", "receipts.jsonl", "cleanup.json"


class CleanupRecord(msgspec.Struct):
    """cleanup.json: one cleanup."""

    id: str
    at: str
    number: int = 0  # in the order in which they were
    left: list[tuple[int, int]] = msgspec.field(default_factory=list)  # first line and how many, in signals.jsonl
    anchors: dict[str, str] = msgspec.field(default_factory=dict)  # what left -> what stays, of receipts for all before
    undone: bool = False


class _Archived(msgspec.Struct):
    id: str
    archived_at: str = ""


_archived = msgspec.json.Decoder(_Archived).decode


class CleanupRecorder:
    """Keeps what one cleanup takes out, each part before it goes. `tell` is called before the first write."""

    def __init__(self, layout: Layout, name: str, at: str, tell: Callable[[CleanupCounts], None]) -> None:
        self._layout, self._folder, self._tell = layout, folder(layout, name), tell
        self._kept, self._told = CleanupRecord(name, at), False
        self.copies = _size(layout.signals) + _size(layout.receipts) <= MOST_BYTES

    def begin(self, counts: CleanupCounts) -> None:
        """There is something to take out."""
        if self._told:
            return
        self._told = True
        _make_room(self._layout, self.copies)
        if self.copies:
            directories.make_folder(self._layout.cleanups)
            directories.make_folder(self._folder)
            self._kept.number = max([one.number for one in kept(self._layout)], default=0) + 1
            self._write()
        self._tell(counts)

    def signals(self, judged: RetentionResult) -> None:
        """Signals leave: as judged."""
        self.begin(judged.counts)
        if self.copies:
            files.replace(self._folder / _SIGNALS, os.pread(judged.fd, judged.end, 0))
            self._kept.left = list(_runs(judged.fates))
            self._write()

    def anchors(self, found: dict[str, str]) -> None:
        """Receipts are put beside those whose signal leaves."""
        self._kept.anchors |= found
        if self.copies:
            self._write()

    def receipts(self, counts: CleanupCounts) -> None:
        """Receipts go."""
        self.begin(counts)
        if self.copies:
            files.replace(self._folder / _RECEIPTS, files.read(self._layout.receipts, _LARGEST) or b"")

    def _write(self) -> None:
        files.replace(self._folder / _RECORD, msgspec.json.encode(self._kept))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _runs(fates: bytearray) -> Iterator[tuple[int, int]]:
    begin = -1
    for number, fate in enumerate([*fates, NO_SIGNAL]):
        if fate > NO_SIGNAL and begin < 0:
            begin = number
        elif fate <= NO_SIGNAL and begin >= 0:
            yield begin, number - begin
            begin = -1


def folder(layout: Layout, name: str) -> Path:
    """Where a cleanup is kept."""
    return layout.cleanups / name


def read(layout: Layout, name: str) -> CleanupRecord | None:
    """What is kept of a cleanup; None where that was too large or is too long ago."""
    data = files.read(folder(layout, name) / _RECORD, _LARGEST)
    try:
        return None if data is None else msgspec.json.decode(data, type=CleanupRecord)
    except UNDECODABLE:
        return None


def kept(layout: Layout) -> list[CleanupRecord]:
    """Every cleanup that is kept, the oldest first."""
    names = os.listdir(layout.cleanups) if layout.cleanups.is_dir() else []
    found = [one for name in names if (one := read(layout, name))]
    return sorted(found, key=lambda one: one.number)


def later(layout: Layout, name: str) -> CleanupRecord | None:
    """A cleanup that came behind this one and stands: it goes back first."""
    mine = read(layout, name)
    behind = [one for one in kept(layout) if mine and one.number > mine.number and not one.undone]
    return behind[-1] if behind else None


def _make_room(layout: Layout, copies: bool) -> None:
    """Let go of the oldest; of all, where what comes now is not kept: the order would be lost."""
    there = kept(layout)
    while there and (not copies or len(there) >= MOST or sum(_bytes(layout, one) for one in there) > MOST_BYTES):
        _forget(folder(layout, there.pop(0).id))


def _bytes(layout: Layout, one: CleanupRecord) -> int:
    return sum(_size(folder(layout, one.id) / name) for name in (_SIGNALS, _RECEIPTS))


def _forget(path: Path) -> None:
    for name in (_RECORD, _SIGNALS, _RECEIPTS):
        directories.remove(path / name)
    directories.remove_folder(path)


def put_back(layout: Layout, name: str) -> None:
    """Take a cleanup back. It can be stopped at any moment and done again. LookupError where it is not kept."""
    with locks.waiting_lock(layout.lock("signal-cleanup")) as held:
        found = read(layout, name)
        if found is None:
            raise LookupError(name)
        there = folder(layout, name)
        gone = _merge_signals(layout, there, found)
        _merge_receipts(layout, there, found, gone)
        _out_of_archive(layout, found, gone)
        locks.overwrite_locked(held, b"")  # copies that a killed run left in the archive are gone as well
        files.replace(
            there / _RECORD, msgspec.json.encode(CleanupRecord(found.id, found.at, found.number, undone=True))
        )
        for one in (_SIGNALS, _RECEIPTS):
            directories.remove(there / one)


def _lines(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def _merge_signals(layout: Layout, there: Path, found: CleanupRecord) -> set[str]:
    """The ids of the signals that had left."""
    old = _lines(files.read(there / _SIGNALS, _LARGEST) or b"")
    left = {number for first, count in found.left for number in range(first, first + count)}
    if old:
        _merge(layout.signals, [(line, number in left) for number, line in enumerate(old)], _signal_mark)
    return {signal.id for number in left if number < len(old) and (signal := slim(old[number]))}


def _signal_mark(line: bytes) -> Hashable:
    signal = slim(line)
    return signal.id if signal else line


def _merge_receipts(layout: Layout, there: Path, found: CleanupRecord, gone: set[str]) -> None:
    """Those of signals that are back come back; those that stood for them go."""
    data = files.read(there / _RECEIPTS, _LARGEST)
    if data is None and found.anchors:  # it was cut off before any of them went
        data = files.read(layout.receipts, _LARGEST)
    if not data or not layout.receipts.exists():
        return
    old = _lines(data)
    receipts = [decode_receipt(line) for line in old]
    known = _ids(layout.signals)
    stand_in = {number for number, pair in enumerate(pairwise(receipts)) if _stands_in(pair, found.anchors)}
    left = [one is not None and (one.signal_id in gone or one.signal_id not in known) for one in receipts]
    drop = {_receipt_mark(old[number]) for number in stand_in}
    rows = [(line, left[number]) for number, line in enumerate(old) if number not in stand_in]
    _merge(layout.receipts, rows, _receipt_mark, drop)


def _stands_in(pair: tuple[Receipt | None, Receipt | None], anchors: dict[str, str]) -> bool:
    """Whether the first of two neighbours was put there by the cleanup, for the other one."""
    one, other = pair
    if one is None or other is None or anchors.get(other.signal_id) != one.signal_id:
        return False
    return (one.reader, one.read_at, one.upto) == (other.reader, other.read_at, other.upto)


def _receipt_mark(line: bytes) -> Hashable:
    one = decode_receipt(line)
    return (one.signal_id, one.reader, one.read_at, one.upto) if one else line


def _ids(path: Path) -> set[str]:
    return {signal.id for line in _lines(files.read(path, _LARGEST) or b"") if (signal := slim(line))}


def _merge(
    path: Path, old: list[tuple[bytes, bool]], mark: Callable[[bytes], Hashable], drop: Iterable[Hashable] = ()
) -> None:
    """Make the journal what it was, line by line with whether the cleanup took that one out, and what came since."""
    for _ in range(_ATTEMPTS):
        try:
            rewriting.beside(path, _Merged(old, mark, set(drop)).blocks)
        except rewriting.Moved:
            continue
        return
    raise files.NotWritten(f"{path} is being rewritten again and again; nothing was written: try again")


class _Merged:
    """The new content; asked a second time, for what came meanwhile, it gives that as it is."""

    def __init__(self, old: list[tuple[bytes, bool]], mark: Callable[[bytes], Hashable], drop: set[Hashable]) -> None:
        self._old, self._mark, self._drop = old, mark, drop
        self._through = False

    def blocks(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        if self._through:
            yield from blocks
            return
        now = [(line, self._mark(line)) for block in blocks for line in _lines(block)]
        marks = {name for _, name in now}
        was = [(line, self._mark(line), gone) for line, gone in self._old]
        yield b"".join(line for line, name, gone in was if gone or name in marks)
        known = {name for _, name, _ in was} | self._drop
        yield b"".join(line for line, name in now if name not in known)
        self._through = True


def _out_of_archive(layout: Layout, found: CleanupRecord, gone: set[str]) -> None:
    def without(lines: Iterator[bytes]) -> Iterator[bytes]:
        return (line for line in lines if not _is_copy(line, found.at, gone))

    if gone and layout.memory_archive.exists():
        rewriting.lines(layout.memory_archive, without)


def _is_copy(line: bytes, at: str, gone: set[str]) -> bool:
    try:
        found = _archived(line)
    except UNDECODABLE:
        return False
    return found.id in gone and found.archived_at in (at, "")  # without a date: it had no room for the marks
