"""Undo of signal cleanups: the journals as they were before, and which lines were removed.

An undo is a three-way merge: the journal as it was, without what was removed from it since, followed by what was
appended since. So every signal gets its place back, before or after the one up to which somebody has read. Only the
last few cleanups are kept, of journals that are not too large; otherwise `memory/archive.jsonl` has the signals.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import Receipt, decode_receipt
from lumen_tui.storage import directories, files, locks, rewriting
from lumen_tui.storage.layout import Layout
from lumen_tui.store.signals.retention import NO_SIGNAL, CleanupCounts, RetentionResult, read_signal

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
    removed: list[tuple[int, int]] = msgspec.field(
        name="left", default_factory=list
    )  # first line and how many, in signals.jsonl
    anchors: dict[str, str] = msgspec.field(default_factory=dict)  # removed id -> remaining id
    undone: bool = False


class _Archived(msgspec.Struct):
    id: str
    archived_at: str = ""


_archived = msgspec.json.Decoder(_Archived).decode


class CleanupRecorder:
    """Records what one cleanup removes, each part before it goes. `announce` is called before the first write."""

    def __init__(self, layout: Layout, name: str, at: str, announce: Callable[[CleanupCounts], None]) -> None:
        self._layout = layout
        self._folder = folder(layout, name)
        self._announce = announce
        self._announced = False
        self._record = CleanupRecord(name, at)
        self.copies = _size(layout.signals) + _size(layout.receipts) <= MOST_BYTES

    def begin(self, counts: CleanupCounts) -> None:
        """Start the record, once: there is something to remove."""
        if self._announced:
            return
        self._announced = True
        _make_room(self._layout, self.copies)
        if self.copies:
            directories.make_folder(self._layout.cleanups)
            directories.make_folder(self._folder)
            self._record.number = max([record.number for record in records(self._layout)], default=0) + 1
            self._write()
        self._announce(counts)

    def signals(self, judged: RetentionResult) -> None:
        """Record the signals that are about to be removed."""
        self.begin(judged.counts)
        if self.copies:
            files.replace(self._folder / _SIGNALS, os.pread(judged.fd, judged.end, 0))
            self._record.removed = list(_runs(judged.fates))
            self._write()

    def anchors(self, new_anchors: dict[str, str]) -> None:
        """Record the receipts that are added beside those whose signal is removed."""
        self._record.anchors |= new_anchors
        if self.copies:
            self._write()

    def receipts(self, counts: CleanupCounts) -> None:
        """Record the receipts that are about to be removed."""
        self.begin(counts)
        if self.copies:
            files.replace(self._folder / _RECEIPTS, files.read(self._layout.receipts, _LARGEST) or b"")

    def _write(self) -> None:
        files.replace(self._folder / _RECORD, msgspec.json.encode(self._record))


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
    """Return the folder of a cleanup's record."""
    return layout.cleanups / name


def read(layout: Layout, name: str) -> CleanupRecord | None:
    """Return the record of a cleanup; None where it was too large or is too old."""
    data = files.read(folder(layout, name) / _RECORD, _LARGEST)
    try:
        return None if data is None else msgspec.json.decode(data, type=CleanupRecord)
    except UNDECODABLE:
        return None


def records(layout: Layout) -> list[CleanupRecord]:
    """Return the record of every cleanup that is kept, the oldest first."""
    names = os.listdir(layout.cleanups) if layout.cleanups.is_dir() else []
    cleanups = [record for name in names if (record := read(layout, name))]
    return sorted(cleanups, key=lambda record: record.number)


def later(layout: Layout, name: str) -> CleanupRecord | None:
    """Return the last cleanup after this one that is not undone: it must be undone first."""
    this = read(layout, name)
    newer = [record for record in records(layout) if this and record.number > this.number and not record.undone]
    return newer[-1] if newer else None


def is_whole(layout: Layout, name: str) -> bool:
    """Return whether a cleanup removed what it recorded. The rewrite takes all signals out of the journal, or none."""
    record = read(layout, name)
    if record is None:
        return True
    backup = folder(layout, name)
    if not record.removed:
        return (backup / _RECEIPTS).exists()  # it had only receipts to remove, or did not get as far as its signals
    old = _lines(files.read(backup / _SIGNALS, _LARGEST) or b"")
    return not _removed_ids(record, old) <= _ids(layout.signals)


def _make_room(layout: Layout, copies: bool) -> None:
    """Remove the oldest records; all of them, where the next cleanup has no copies: the order would be lost."""
    remaining = records(layout)
    while remaining and (
        not copies or len(remaining) >= MOST or sum(_bytes(layout, record) for record in remaining) > MOST_BYTES
    ):
        _forget(folder(layout, remaining.pop(0).id))


def _bytes(layout: Layout, record: CleanupRecord) -> int:
    return sum(_size(folder(layout, record.id) / name) for name in (_SIGNALS, _RECEIPTS))


def _forget(path: Path) -> None:
    for name in (_RECORD, _SIGNALS, _RECEIPTS):
        directories.remove(path / name)
    directories.remove_folder(path)


def put_back(layout: Layout, name: str) -> None:
    """Undo a cleanup. It can be stopped at any moment and run again. LookupError where there is no record."""
    with locks.waiting_lock(layout.lock("signal-cleanup")) as lock_fd:
        record = read(layout, name)
        if record is None:
            raise LookupError(name)
        backup = folder(layout, name)
        signal_ids = _merge_signals(layout, backup, record)
        _merge_receipts(layout, backup, record, signal_ids)
        _out_of_archive(layout, record, signal_ids)
        locks.overwrite_locked(lock_fd, b"")  # copies that a killed run left in the archive are removed as well
        files.replace(
            backup / _RECORD, msgspec.json.encode(CleanupRecord(record.id, record.at, record.number, undone=True))
        )
        for journal_name in (_SIGNALS, _RECEIPTS):
            directories.remove(backup / journal_name)


def _lines(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def _merge_signals(layout: Layout, backup: Path, record: CleanupRecord) -> set[str]:
    """Merge the removed signals back; return their ids."""
    old = _lines(files.read(backup / _SIGNALS, _LARGEST) or b"")
    removed_lines = _removed_lines(record)
    if old:
        _merge(layout.signals, [(line, number in removed_lines) for number, line in enumerate(old)], _signal_mark)
    return _removed_ids(record, old)


def _removed_lines(record: CleanupRecord) -> set[int]:
    return {number for first, count in record.removed for number in range(first, first + count)}


def _removed_ids(record: CleanupRecord, old: list[bytes]) -> set[str]:
    numbers = _removed_lines(record)
    return {signal.id for number in numbers if number < len(old) and (signal := read_signal(old[number]))}


def _signal_mark(line: bytes) -> Hashable:
    signal = read_signal(line)
    return signal.id if signal else line


def _merge_receipts(layout: Layout, backup: Path, record: CleanupRecord, signal_ids: set[str]) -> None:
    """Restore the receipts of restored signals; remove those that were added in their place."""
    data = files.read(backup / _RECEIPTS, _LARGEST)
    if data is None and record.anchors:  # it was cut off before any of them went
        data = files.read(layout.receipts, _LARGEST)
    if not data or not layout.receipts.exists():
        return
    old = _lines(data)
    receipts = [decode_receipt(line) for line in old]
    known = _ids(layout.signals)
    stand_ins = {number for number, pair in enumerate(pairwise(receipts)) if _stands_in(pair, record.anchors)}
    removed = [
        receipt is not None and (receipt.signal_id in signal_ids or receipt.signal_id not in known)
        for receipt in receipts
    ]
    drop = {_receipt_mark(old[number]) for number in stand_ins}
    rows = [(line, removed[number]) for number, line in enumerate(old) if number not in stand_ins]
    _merge(layout.receipts, rows, _receipt_mark, drop)


def _stands_in(pair: tuple[Receipt | None, Receipt | None], anchors: dict[str, str]) -> bool:
    """Return whether the first of two neighbours was added by the cleanup, for the other one."""
    first, second = pair
    if first is None or second is None or anchors.get(second.signal_id) != first.signal_id:
        return False
    return (first.reader, first.read_at, first.upto) == (second.reader, second.read_at, second.upto)


def _receipt_mark(line: bytes) -> Hashable:
    receipt = decode_receipt(line)
    return (receipt.signal_id, receipt.reader, receipt.read_at, receipt.upto) if receipt else line


def _ids(path: Path) -> set[str]:
    return {signal.id for line in _lines(files.read(path, _LARGEST) or b"") if (signal := read_signal(line))}


def _merge(
    path: Path, old: list[tuple[bytes, bool]], mark: Callable[[bytes], Hashable], drop: Iterable[Hashable] = ()
) -> None:
    """Restore the `old` lines of a journal, each with whether the cleanup removed it, and keep what came since."""
    for _ in range(_ATTEMPTS):
        try:
            rewriting.beside(path, _Merged(old, mark, set(drop)).blocks)
        except rewriting.JournalReplaced:
            continue
        return
    raise files.NotWritten(f"{path} is being rewritten again and again; nothing was written: try again")


class _Merged:
    """The merged content; the second call, for what was appended meanwhile, passes that through."""

    def __init__(self, old: list[tuple[bytes, bool]], mark: Callable[[bytes], Hashable], drop: set[Hashable]) -> None:
        self._old = old
        self._mark = mark
        self._drop = drop
        self._through = False

    def blocks(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        if self._through:
            yield from blocks
            return
        current = [(line, self._mark(line)) for block in blocks for line in _lines(block)]
        marks = {name for _, name in current}
        earlier = [(line, self._mark(line), was_removed) for line, was_removed in self._old]
        yield b"".join(line for line, name, was_removed in earlier if was_removed or name in marks)
        known = {name for _, name, _ in earlier} | self._drop
        yield b"".join(line for line, name in current if name not in known)
        self._through = True


def _out_of_archive(layout: Layout, record: CleanupRecord, signal_ids: set[str]) -> None:
    def without(lines: Iterator[bytes]) -> Iterator[bytes]:
        return (line for line in lines if not _is_copy(line, record.at, signal_ids))

    if signal_ids and layout.memory_archive.exists():
        rewriting.lines(layout.memory_archive, without)


def _is_copy(line: bytes, at: str, signal_ids: set[str]) -> bool:
    try:
        copy = _archived(line)
    except UNDECODABLE:
        return False
    return copy.id in signal_ids and copy.archived_at in (at, "")  # without a date: there was no room for the marks
