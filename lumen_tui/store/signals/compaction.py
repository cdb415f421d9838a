"""Compaction of signals: expired ones move from signals.jsonl to archive.jsonl, and receipts keep their meaning.

Each step is durable before the next: beside each receipt of the kind "that one and all before" whose signal leaves,
one is added for the newest signal before it that stays; the leaving lines are copied to the archive; then the journal
is rewritten, and only then are receipts dropped whose signal is gone. All of it is prepared while others write; they
wait for the last step of a rewrite alone. A kill between two steps leaves a state that reads the same, and the next
run continues from there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import Receipt, decode_receipt
from lumen_tui.storage import directories, files, locks, rewriting
from lumen_tui.storage.journal import Follower, encode
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import whole_blocks
from lumen_tui.storage.rewriting import Watch, unwatched
from lumen_tui.store.signals import receipts, retention
from lumen_tui.store.signals.cleanups import CleanupRecorder
from lumen_tui.store.signals.retention import (
    NO_SIGNAL,
    REASONS,
    CleanupCounts,
    RetentionResult,
    RetentionRule,
    read_signal,
)

_BATCH = 512 * 1024  # bytes of one append to the archive: a kill does not tear it
_ATTEMPTS = 5  # when another rewrite came between the decision and the lock
_LONGEST = files.MAX_LINE - 256  # bytes of a line that has room for the marks
_SYNC = 32 * 1024 * 1024  # bytes after which to wait for the disk, which appenders share


def archive_path(layout: Layout) -> Path:
    """Return the path of the archive for signals that leave the journal."""
    return layout.memory_archive


def plan(layout: Layout, rule: RetentionRule, now: float, watch: Watch = unwatched) -> CleanupCounts:
    """Return what `compact` would do now."""
    counts = CleanupCounts()
    if layout.signals.exists():
        fd = files.open_plain(layout.signals)
        try:
            counts = retention.judge(layout, fd, rule, now, watch).counts
        finally:
            os.close(fd)
    counts.orphaned = receipts.orphans(layout)
    return counts


def compact(
    layout: Layout, rule: RetentionRule, now: float, watch: Watch = unwatched, keeping: CleanupRecorder | None = None
) -> CleanupCounts:
    """Archive what the rule no longer keeps; safe beside any number of writers and readers.

    It can be stopped at any moment; `watch` gets the progress, and `keeping` what undo needs.
    """
    with locks.waiting_lock(layout.lock("signal-cleanup")) as held:
        counts = CleanupCounts()
        for _ in range(_ATTEMPTS if layout.signals.exists() else 0):
            try:
                counts = _compact(layout, rule, now, held, watch, keeping)
                break
            except rewriting.JournalReplaced:
                continue
        if keeping is not None and (counts.removed or receipts.orphans(layout)):
            keeping.receipts(counts)
        counts.orphaned += receipts.tidy(layout, moved=counts.removed > 0)
    return counts


def _compact(
    layout: Layout, rule: RetentionRule, now: float, held: int, watch: Watch, keeping: CleanupRecorder | None
) -> CleanupCounts:
    fd = files.open_plain(layout.signals)
    try:
        judged = retention.judge(layout, fd, rule, now, lambda share: watch(share / 2))
        counts = judged.counts
        if counts.removed:
            if keeping is not None:
                keeping.signals(judged)
            _rewrite(layout, judged, _Archive(archive_path(layout), held, now), watch, keeping)
        return counts
    finally:
        os.close(fd)


def _rewrite(
    layout: Layout, judged: RetentionResult, archive: _Archive, watch: Watch, keeping: CleanupRecorder | None
) -> None:
    with closing(_Receipts(layout)) as arrived:
        _rewrite_beside(arrived, layout, judged, archive, watch, keeping)


def _rewrite_beside(
    arrived: _Receipts,
    layout: Layout,
    judged: RetentionResult,
    archive: _Archive,
    watch: Watch,
    keeping: CleanupRecorder | None,
) -> None:
    def anchor() -> None:
        if anchors := judged.anchors(arrived.new()):
            if keeping is not None:
                keeping.anchors(anchors)
            receipts.anchor(layout, anchors)

    anchor()
    arrived.new()  # the rewrite of `anchor` itself: under the lock, only what came since is read
    sorting = _Sorting(judged.fates, archive, watch)
    rewriting.beside(layout.signals, sorting.staying, anchor, of=judged.fd)
    archive.forget()


class _Receipts:
    """Receipts for "that one and all before", each signal's once."""

    def __init__(self, layout: Layout) -> None:
        self._follower = Follower(layout.receipts)
        self._known: set[str] = set()

    def close(self) -> None:
        """Close the journal."""
        self._follower.close()

    def new(self) -> list[Receipt]:
        """Return those that came since the last call."""
        new_receipts = []
        for _, data in self._follower.pieces():
            for line in data.splitlines():
                receipt = decode_receipt(line)
                if receipt and receipt.upto and receipt.signal_id not in self._known:
                    self._known.add(receipt.signal_id)
                    new_receipts.append(receipt)
        return new_receipts


class _Sorting:
    """Yields the lines that stay, archives the others; lines that came later, under the lock, stay."""

    def __init__(self, fates: bytearray, archive: _Archive, watch: Watch) -> None:
        self._fates = fates
        self._archive = archive
        self._watch = watch
        self._at = 0
        self._through = False

    def staying(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        if self._through:  # writers wait: no progress report, no sync
            yield from blocks
            return
        for block in blocks:
            count = block.count(b"\n")
            fates = self._fates[self._at : self._at + count].ljust(count, b"\0")
            self._at += count
            if max(fates) <= NO_SIGNAL:
                yield block
            elif not self._archive.add_all(block, fates):
                yield self._sorted(fates, block.split(b"\n"))
            self._watch(0.5 + min(1.0, self._at / max(1, len(self._fates))) / 2)
        self._archive.flush()
        self._through = True

    def _sorted(self, fates: bytearray, lines: list[bytes]) -> bytes:
        stays = []
        for fate, line in zip(fates, lines, strict=False):
            if fate > NO_SIGNAL:
                self._archive.add(line, fate)
            else:
                stays.append(line + b"\n")
        return b"".join(stays)


class _Archive:
    """Appends to the archive. What an earlier run copied before it was killed is not copied again.

    During a run, the cleanup's lock file holds the offset in the archive at which its copies begin.
    """

    def __init__(self, path: Path, held: int, now: float) -> None:
        self._path = path
        self._held = held
        self._batch: list[bytes] = []
        self._size = self._unsynced = 0
        at = times.iso(now)
        self._marks = {fate: {"archived_at": at, "archive_reason": reason} for fate, reason in REASONS.items()}
        self._tails = {fate: b"," + msgspec.json.encode(marks)[1:] + b"\n" for fate, marks in self._marks.items()}
        content = os.pread(held, 32, 0).strip()
        self._known = _ids(path, int(content)) if content.isdigit() else set()
        if not content.isdigit():
            size = path.stat().st_size if path.exists() else 0
            locks.overwrite_locked(held, b"%d\n" % size)

    def add_all(self, block: bytes, fates: bytearray) -> bool:
        """Copy a block whose lines all leave for one reason; return False where it must be line by line."""
        if min(fates) != max(fates) or self._known or b'"archive' in block or block.count(b"}\n") != len(fates):
            return False
        if len(max(block.split(b"\n"), key=len)) > _LONGEST:
            return False
        self._put(block.replace(b"}\n", self._tails[fates[0]]))
        return True

    def add(self, line: bytes, fate: int) -> None:
        """Copy one line, marked with when and why it leaves."""
        if self._known and (signal := read_signal(line)) and signal.id in self._known:
            return
        plain = line[-1:] == b"}" and b'"archive' not in line and len(line) <= _LONGEST
        self._put(line[:-1] + self._tails[fate] if plain else self._marked(line, fate))

    def _put(self, data: bytes) -> None:
        self._batch.append(data)
        self._size += len(data)
        if self._size >= _BATCH:
            self._write()

    def _marked(self, line: bytes, fate: int) -> bytes:
        """Return the line with its marks; unchanged where it would be too long or cannot be decoded."""
        try:
            return encode(msgspec.json.decode(line) | self._marks[fate])
        except (files.LineTooLong, *UNDECODABLE):
            return line + b"\n"

    def _write(self) -> None:
        if self._batch:
            files.append(self._path, b"".join(self._batch), durable=False)
        self._unsynced += self._size
        self._batch = []
        self._size = 0
        if self._unsynced >= _SYNC:
            directories.make_durable(self._path)
            self._unsynced = 0

    def flush(self) -> None:
        """Make everything durable that was added."""
        self._write()
        directories.make_durable(self._path)

    def forget(self) -> None:
        """Clear the lock file once the journal was rewritten: the next run has nothing to look for."""
        locks.overwrite_locked(self._held, b"")


def cut_off(layout: Layout, *, mend: bool) -> int:
    """Return how many signals a cleanup that was killed left both in the journal and in the archive.

    With `mend` the copies go out of the archive again. One that is at work now is left alone.
    """
    path = layout.lock("signal-cleanup")
    held = locks.try_lock(path) if path.exists() else None
    if held is None:
        return 0
    try:
        content = os.pread(held, 32, 0).strip()
        copied = _ids(layout.memory_archive, int(content)) if content.isdigit() else set()
        doubled = copied & _ids(layout.signals, 0) if copied else set()
        if mend and content:
            if doubled:
                _take_out(layout.memory_archive, int(content), doubled)
            locks.overwrite_locked(held, b"")
        return len(doubled)
    finally:
        os.close(held)


def _take_out(archive: Path, begin: int, signal_ids: set[str]) -> None:
    """Remove the copies behind an offset; what stands before it is of earlier cleanups."""
    at = 0  # counted on from block to block: nobody else rewrites the archive while the lock is held

    def without(lines: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal at
        for line in lines:
            signal = read_signal(line) if at >= begin else None
            at += len(line) + 1
            if signal is None or signal.id not in signal_ids:
                yield line

    rewriting.lines(archive, without)


def _ids(path: Path, begin: int) -> set[str]:
    """Return the ids in a journal of signals from an offset on."""
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return set()
    try:
        begin = begin if begin <= os.fstat(fd).st_size else 0
        lines = (line for _, block in whole_blocks(fd, begin) for line in block.splitlines())
        return {signal.id for line in lines if (signal := read_signal(line))}
    finally:
        os.close(fd)
