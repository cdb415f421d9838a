"""Signals whose time is over leave signals.jsonl for archive.jsonl; nothing is lost, and receipts keep their sense.

The journal is judged without its lock, and the leaving lines are copied to the archive. Under its lock, each step
durable before the next: beside each receipt of the kind "that one and all before" whose signal leaves, one is put for
the newest signal before it that stays; then the journal is rewritten. Only then are receipts dropped whose signal is
gone. A kill between two steps leaves a state that reads the same, and the next run goes on from there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from lumen_tui.model import times
from lumen_tui.model.times import DAY
from lumen_tui.store import files, lanes
from lumen_tui.store.journal import Follower, Journal, encode, whole_lines
from lumen_tui.store.layout import Layout
from lumen_tui.store.readstate import ReadState, Slim, slim
from lumen_tui.store.receipts import anchor, covering, orphans, tidy
from lumen_tui.store.work import list_units

_CHUNK = 1024 * 1024
_BATCH = 1000  # lines
_ATTEMPTS = 5  # another rewrite came between the judgement and the lock


class Rule(NamedTuple):
    """How long signals stay, in seconds; of those that are read and not about active work, how many at most."""

    read: float = 7 * DAY
    unread: float = 30 * DAY
    most_read: int = 500


class Counts(msgspec.Struct):
    """What a cleanup would do, or did."""

    kept: int = 0
    unread: int = 0  # of those kept
    active: int = 0  # of those kept: about active work
    removed_read: int = 0
    removed_unread: int = 0
    removed_over: int = 0  # read and beyond the number that is kept
    orphaned: int = 0  # receipts that belong to no signal

    @property
    def removed(self) -> int:
        """All that leave."""
        return self.removed_read + self.removed_unread + self.removed_over


class Judged(NamedTuple):
    """Which lines of one file leave. `leaving` has one byte a line, 0 for those that stay."""

    inode: tuple[int, int]
    leaving: bytearray
    counts: Counts


_STAYS, _READ, _UNREAD, _OVER = 0, 1, 2, 3
REASONS = (
    "", "read, and its time is over", "unread, but old and not about active work", "read, beyond the number kept",
)  # fmt: skip


class _Moved(Exception):
    """The journal was rewritten since it was judged."""


def archive_path(layout: Layout) -> Path:
    """Where signals go that left the journal."""
    return layout.memory_archive


def plan(layout: Layout, rule: Rule, now: float) -> Counts:
    """What `compact` would do now."""
    judged = _judge(layout, rule, now)
    counts = judged.counts if judged else Counts()
    counts.orphaned = orphans(layout)
    return counts


def compact(layout: Layout, rule: Rule, now: float) -> Counts:
    """Move out what the rule no longer keeps; safe beside any number of writers and readers."""
    with files.waiting_lock(layout.lock("signal-cleanup")):
        counts = _compact(layout, rule, now)
        counts.orphaned += tidy(layout, moved=counts.removed > 0)
    return counts


def _compact(layout: Layout, rule: Rule, now: float) -> Counts:
    for _ in range(_ATTEMPTS):
        judged = _judge(layout, rule, now)
        if judged is None or not judged.counts.removed:
            return judged.counts if judged else Counts()
        try:
            _rewrite(layout, judged, now)
        except _Moved:
            continue
        return judged.counts
    return Counts()


def _judge(layout: Layout, rule: Rule, now: float) -> Judged | None:
    """The fate of every whole line there is; None where there is no journal."""
    state = ReadState(layout, now - rule.unread)
    try:
        fd = files.open_plain(layout.signals)
    except FileNotFoundError:
        return None
    try:
        found = os.fstat(fd)
        judge = _Judge(layout, state, rule, now)
        for line in whole_lines(fd):
            judge.take(line)
    finally:
        os.close(fd)
    judge.cut_to(rule.most_read)
    return Judged((found.st_dev, found.st_ino), judge.leaving, judge.counts)


class _Judge:
    """Decides line by line."""

    def __init__(self, layout: Layout, state: ReadState, rule: Rule, now: float) -> None:
        self.leaving = bytearray()
        self.counts = Counts()
        self._state, self._rule, self._now = state, rule, now
        units, _ = list_units(layout)
        self._units = {unit.id for unit in units if unit.status != "done"}
        self._lanes = _locked_lanes(layout, {unit.lane for unit in units if unit.lane})
        self._read: list[int] = []  # ordinals of read ones that stay

    def take(self, line: bytes) -> None:
        """Decide one line; what cannot be read stays where it is."""
        signal = slim(line)
        state = _STAYS if signal is None else self._fate(signal)
        self.leaving.append(state)
        self.counts.kept += signal is not None and state == _STAYS
        self.counts.removed_read += state == _READ
        self.counts.removed_unread += state == _UNREAD

    def _fate(self, signal: Slim) -> int:
        read = self._state.is_read(signal, len(self.leaving))
        self.counts.unread += not read
        if signal.wu_id in self._units or signal.lane in self._lanes:
            self.counts.active += 1
            return _STAYS
        age = self._now - times.epoch(signal.created_at, self._now)
        if age > (self._rule.read if read else self._rule.unread):
            self.counts.unread -= not read
            return _READ if read else _UNREAD
        if read:
            self._read.append(len(self.leaving))
        return _STAYS

    def cut_to(self, most: int) -> None:
        """Let the oldest read ones go until `most` are left."""
        over = self._read[: max(0, len(self._read) - most)]
        for ordinal in over:
            self.leaving[ordinal] = _OVER
        self.counts.kept -= len(over)
        self.counts.removed_over = len(over)


def _locked_lanes(layout: Layout, known: set[str]) -> set[str]:
    """Lanes in which somebody holds a place."""
    return {lane for lane in known if lanes.holders(layout, lane)}


def _rewrite(layout: Layout, judged: Judged, now: float) -> None:
    wanted = covering(layout)
    anchors = _copy(_numbered(layout, judged), judged, _Archived(layout), wanted, now)

    def change(lines: Iterator[bytes]) -> Iterator[bytes]:
        _must_be(judged, os.stat(layout.signals))
        if late := covering(layout) - wanted:  # of receipts that came meanwhile
            anchors.update(_copy(_numbered(layout, judged), judged, None, late, now))
        if anchors:
            anchor(layout, anchors)
        return _staying(lines, judged)

    Journal(layout.signals).rewrite(change)


def _must_be(judged: Judged, found: os.stat_result) -> None:
    if (found.st_dev, found.st_ino) != judged.inode:
        raise _Moved


def _numbered(layout: Layout, judged: Judged) -> Iterator[tuple[int, bytes]]:
    """The judged lines, each with its fate."""
    fd = files.open_plain(layout.signals)
    try:
        _must_be(judged, os.fstat(fd))
        yield from zip(judged.leaving, whole_lines(fd), strict=False)
    finally:
        os.close(fd)


def _copy(
    lines: Iterator[tuple[int, bytes]], judged: Judged, archived: _Archived | None, wanted: set[str], now: float
) -> dict[str, str]:
    """Copy leaving lines to the archive. For each leaving id of `wanted`: the newest one before it that stays."""
    anchors: dict[str, str] = {}
    last = ""
    for fate, line in lines:
        signal = slim(line)
        if signal is None:
            continue
        if not fate:
            last = signal.id
            continue
        if archived:
            archived.add(signal.id, line, REASONS[fate], now)
        if signal.id in wanted:
            anchors[signal.id] = last
    if archived:
        archived.flush()
    return anchors


def _staying(lines: Iterator[bytes], judged: Judged) -> Iterator[bytes]:
    count = len(judged.leaving)
    for ordinal, line in enumerate(lines):
        if ordinal >= count or not judged.leaving[ordinal]:
            yield line


class _Archived:
    """The archive's end. What an earlier, killed run copied already is not copied again."""

    def __init__(self, layout: Layout) -> None:
        self._path = archive_path(layout)
        self._known: set[str] = set()
        self._follower = Follower(self._path)
        self._batch: list[bytes] = []
        self._look()

    def _look(self) -> None:
        while data := self._follower.poll(_CHUNK)[1]:
            self._known.update(found.id for line in data.splitlines() if (found := slim(line)))

    def add(self, signal_id: str, line: bytes, reason: str, now: float) -> None:
        if not self._batch:
            self._look()
        if signal_id not in self._known:
            self._batch.append(_marked(line, reason, now))
        if len(self._batch) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Make everything durable that was added."""
        if self._batch:
            files.append(self._path, b"".join(self._batch))
            self._batch.clear()


def _marked(line: bytes, reason: str, now: float) -> bytes:
    """The record with when and why it left; as it stands where it would grow too long."""
    record = msgspec.json.decode(line)
    record |= {"archived_at": times.iso(now), "archive_reason": reason}
    try:
        return encode(record)
    except files.LineTooLong:
        return line + b"\n"
