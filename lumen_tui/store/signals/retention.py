"""Which signals stay and which leave: read or not, old or not, about active work or not.

Read is what was read by its addressee, or by everybody who reads here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec

from lumen_tui.model import lanes as names
from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import EVERYONE, Receipt, decode_receipt
from lumen_tui.storage import raw_json
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import LineMap, whole_blocks
from lumen_tui.storage.rewriting import Watch
from lumen_tui.store.signals.receipts import locate
from lumen_tui.store.work import open_sessions, work_units
from lumen_tui.store.work.work_units import list_units

_NEVER = datetime.max.replace(tzinfo=UTC)
# One byte a line. What is greater than NO_SIGNAL leaves.
READ, UNREAD, ACTIVE_READ, ACTIVE_UNREAD, TO_ALL, NO_SIGNAL, OLD_READ, OLD_UNREAD, OVER = range(9)
REASONS = {
    OLD_READ: "read, and its time is over",
    OLD_UNREAD: "unread, but old and not about active work",
    OVER: "read by its addressee, beyond the number kept",
}


class RetainedSignal(msgspec.Struct, gc=False):
    """The fields of a signal that retention needs. One without a readable date counts as new."""

    id: str
    created_at: Annotated[datetime, msgspec.Meta(tz=True)] = _NEVER
    wu_id: str = ""
    lane: str = ""
    sender: str = ""
    target_agent: str = ""
    session_id: str = ""
    read: bool = False


class _UndatedSignal(msgspec.Struct):
    id: str
    created_at: str = ""
    wu_id: str = ""
    lane: str = ""
    sender: str = ""
    target_agent: str = ""
    session_id: str = ""
    read: bool = False


_strict = msgspec.json.Decoder(RetainedSignal)
_loose = msgspec.json.Decoder(_UndatedSignal).decode


def read_signal(line: bytes) -> RetainedSignal | None:
    """Return the signal in `line`; None where there is none that can be judged."""
    try:
        loose = _loose(line)
    except UNDECODABLE:
        return None
    try:
        created = datetime.fromtimestamp(times.parse_iso(loose.created_at), UTC)
    except (ValueError, OverflowError, OSError):
        created = _NEVER
    signal = RetainedSignal(
        loose.id, created, loose.wu_id, loose.lane, loose.sender, loose.target_agent, loose.session_id, loose.read
    )
    return signal if loose.id else None


def read_signals(block: bytes) -> Sequence[RetainedSignal | None]:
    """Return the signal of each whole line of `block`: decoded at once where all of them are valid."""
    try:
        parsed = _strict.decode_lines(block)
        if len(parsed) == block.count(b"\n") and all(signal.id for signal in parsed):
            return parsed
    except UNDECODABLE:
        pass
    return [read_signal(line) for line in block.split(b"\n")[:-1]]


def _present(layout: Layout, since: float) -> set[str]:
    """Return the sessions that are open, and the operators seen in the room, since that moment."""
    root = os.fspath(layout.root)
    readers = {session.session_id for session in open_sessions.live(root) if times.epoch(session.started_at) >= since}
    for name in open_sessions.names(f"{root}/sessions/operators"):
        record = raw_json.read(f"{root}/sessions/operators/{name}.json") or {}
        if isinstance(record.get("operator"), str) and times.epoch(str(record.get("last_seen"))) >= since:
            readers.add(record["operator"])
    return readers


class ReadState:
    """What every reader has read of the signals in an open file.

    A signal to one agent is read when that agent read it. Any other is read when every known reader did: those who
    opened the inbox or the room since `active_since`, and the open sessions. A legacy receipt without a reader counts
    for everybody. A session that is over is no longer a reader, and what was sent to it counts as sent to all.
    """

    def __init__(self, layout: Layout, fd: int, lines: LineMap, active_since: float) -> None:
        self._single: dict[str, set[str]] = {}  # reader -> ids
        self._reach: dict[str, int] = {}  # reader -> number of the line up to which all is read
        upto: list[Receipt] = []
        last: dict[str, float] = {}
        for line in Journal(layout.receipts).lines():
            receipt = decode_receipt(line)
            if receipt is None:
                continue
            if receipt.upto:
                upto.append(receipt)
            else:
                self._single.setdefault(receipt.reader, set()).add(receipt.signal_id)
            last[receipt.reader] = max(last.get(receipt.reader, 0.0), times.epoch(receipt.read_at))
        self._cover(fd, lines, upto)
        self._over = frozenset(open_sessions.names(f"{layout.root}/sessions/ended"))
        known = [reader for reader in last if reader != EVERYONE and reader not in self._over]
        recent = {reader for reader in known if last[reader] >= active_since} | _present(layout, active_since)
        self._readers = list(recent or known)
        by_all = min((self._reach.get(reader, -1) for reader in self._readers), default=-1)
        self.floor = max(by_all, self._reach.get(EVERYONE, -1))  # up to this line everybody has read what is for all

    def _cover(self, fd: int, lines: LineMap, upto: list[Receipt]) -> None:
        where = locate(fd, upto)
        for receipt in upto:
            offset = where.get(receipt.signal_id, lines.end)
            if offset < lines.end:
                self._reach[receipt.reader] = max(self._reach.get(receipt.reader, -1), lines.ordinal(offset))

    def is_read(self, signal: RetainedSignal, ordinal: int) -> bool:
        """Return whether all who should read this signal have; `ordinal` is its line's number from 0."""
        if signal.read or self._has_read(EVERYONE, signal, ordinal):
            return True
        to = self.addressee(signal)
        readers = [to] if to else self._readers
        return bool(readers) and all(
            reader in (signal.sender, signal.session_id) or self._has_read(reader, signal, ordinal)
            for reader in readers
        )

    def addressee(self, signal: RetainedSignal) -> str:
        """Return the one reader that a signal is for; empty where it is for all. One marked as read is for everyone."""
        if signal.read:
            return EVERYONE
        return "" if signal.target_agent in self._over else signal.target_agent

    def _has_read(self, reader: str, signal: RetainedSignal, ordinal: int) -> bool:
        return ordinal <= self._reach.get(reader, -1) or signal.id in self._single.get(reader, ())


class RetentionRule(msgspec.Struct, frozen=True):
    """How long signals stay, in seconds, and how many of those that their addressee has read.

    What its addressee has not read stays, however old and however many. A signal to all has no list of addressees:
    it stays until every known reader has read it or the time of unread ones is over, and for a day in any case, for
    whoever reads for the first time. Signals about active work stay.
    """

    read: float = 7 * times.DAY
    unread: float = 30 * times.DAY
    most_read: int = 500
    to_all: float = times.DAY  # a signal to all that is younger does not count towards `most_read`


class CleanupCounts(msgspec.Struct):
    """What a cleanup would do, or did, in numbers of signals."""

    kept: int = 0
    unread: int = 0  # of those kept
    active: int = 0  # of those kept: about active work
    removed_read: int = 0
    removed_unread: int = 0
    removed_over: int = 0  # read and beyond the number that is kept
    orphaned: int = 0  # receipts that belong to no signal

    @property
    def removed(self) -> int:
        """How many are removed in all."""
        return self.removed_read + self.removed_unread + self.removed_over


class RetentionResult:
    """What becomes of each line of one open file."""

    def __init__(self, fd: int, lines: LineMap, fates: bytearray) -> None:
        self.fd = fd
        self.fates = fates
        self._lines = lines

    @property
    def end(self) -> int:
        """The offset after the last line that was judged."""
        return self._lines.end

    @property
    def counts(self) -> CleanupCounts:
        """How many lines have which fate."""
        counted = [self.fates.count(fate) for fate in range(OVER + 1)]
        return CleanupCounts(
            kept=sum(counted[:NO_SIGNAL]),
            unread=counted[UNREAD] + counted[ACTIVE_UNREAD],
            active=counted[ACTIVE_READ] + counted[ACTIVE_UNREAD],
            removed_read=counted[OLD_READ],
            removed_unread=counted[OLD_UNREAD],
            removed_over=counted[OVER],
        )

    def anchors(self, receipts: Iterable[Receipt]) -> dict[str, str]:
        """Return, for each receipt whose signal leaves, the newest signal before it that stays, where one does."""
        anchors_by_id = {}
        for name, offset in locate(self.fd, receipts).items():
            if offset >= self._lines.end:
                continue
            ordinal = self._lines.ordinal(offset)
            if ordinal < len(self.fates) and self.fates[ordinal] > NO_SIGNAL:
                staying = max(self.fates.rfind(fate, 0, ordinal) for fate in range(NO_SIGNAL))
                anchor = read_signal(self._lines.line(staying)) if staying >= 0 else None
                if anchor:
                    anchors_by_id[name] = anchor.id
        return anchors_by_id


def judge(layout: Layout, fd: int, rule: RetentionRule, now: float, watch: Watch) -> RetentionResult:
    """Decide the fate of every whole line of the open journal."""
    lines = LineMap(fd)
    judgement = _LineJudge(layout, ReadState(layout, fd, lines, now - rule.unread), rule, now)
    fates = bytearray()
    size = max(1, os.fstat(fd).st_size)
    for offset, block in whole_blocks(fd):
        fates.extend(judgement.fates(read_signals(block), len(fates)))
        watch((offset + len(block)) / size)
    surplus = fates.count(READ) - rule.most_read
    if surplus > 0:
        fates = fates.replace(bytes([READ]), bytes([OVER]), surplus)  # the oldest
    return RetentionResult(fd, lines, fates)


class _LineJudge:
    """Decides line by line; what cannot be read stays."""

    def __init__(self, layout: Layout, state: ReadState, rule: RetentionRule, now: float) -> None:
        units, _ = list_units(layout)
        self._units = {unit.id for unit in units if unit.status != "done"}
        self._lanes = {
            names.key(lane) for unit in units if (lane := unit.lane) and work_units.lane_holders(layout, lane)
        }
        self._state = state
        self._floor = state.floor
        self._read_before = _moment(now - rule.read)
        self._unread_before = _moment(now - rule.unread)
        self._fresh_from = _moment(now - rule.to_all)

    def fates(self, signals: Sequence[RetainedSignal | None], first: int) -> list[int]:
        """Return the fate of each signal; `first` is the number of the first line."""
        fate = self._fate
        return [NO_SIGNAL if signal is None else fate(signal, number) for number, signal in enumerate(signals, first)]

    def _fate(self, signal: RetainedSignal, ordinal: int) -> int:
        to = self._state.addressee(signal)
        read = (ordinal <= self._floor and not to) or self._state.is_read(signal, ordinal)
        if signal.wu_id in self._units or (signal.lane and names.key(signal.lane) in self._lanes):
            return ACTIVE_READ if read else ACTIVE_UNREAD
        if not read:
            return OLD_UNREAD if signal.created_at < self._unread_before and not to else UNREAD
        if not to and signal.created_at > self._fresh_from:
            return TO_ALL
        return OLD_READ if signal.created_at < self._read_before else READ


def _moment(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.min.replace(tzinfo=UTC)  # before every date there is
