"""Which signals stay and which leave: read or not, old or not, about active work or not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from lumen_tui.model import lanes as names
from lumen_tui.model.records import Receipt
from lumen_tui.model.times import DAY
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import LineMap, whole_blocks
from lumen_tui.store.signals.read_state import ReadState, RetainedSignal, locate, read_signal, read_signals
from lumen_tui.store.work import work_units
from lumen_tui.store.work.work_units import list_units

# One byte a line. What is greater than NO_SIGNAL leaves.
READ, UNREAD, ACTIVE_READ, ACTIVE_UNREAD, TO_ALL, NO_SIGNAL, OLD_READ, OLD_UNREAD, OVER = range(9)
REASONS = {
    OLD_READ: "read, and its time is over",
    OLD_UNREAD: "unread, but old and not about active work",
    OVER: "read by its addressee, beyond the number kept",
}

Watch = Callable[[float], None]  # gets the share that is done, 0 to 1


def unwatched(_: float) -> None:
    """Ignore the progress."""


class RetentionRule(msgspec.Struct, frozen=True):
    """How long signals stay, in seconds, and how many of those that their addressee has read.

    What its addressee has not read stays, however old and however many. A signal to all has no list of addressees:
    it stays until every known reader has read it or the time of unread ones is over, and for a day in any case, for
    whoever reads for the first time. Signals about active work stay.
    """

    read: float = 7 * DAY
    unread: float = 30 * DAY
    most_read: int = 500
    to_all: float = DAY  # a signal to all that is younger does not count towards `most_read`


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
