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
from lumen_tui.storage.line_numbers import LineMap, whole_blocks
from lumen_tui.store.signals.read_state import ReadState, Slim, locate, slim, slims
from lumen_tui.store.work import lanes
from lumen_tui.store.work.work_units import list_units

# One byte a line. What is greater than NO_SIGNAL leaves.
READ, UNREAD, ACTIVE_READ, ACTIVE_UNREAD, TO_ALL, NO_SIGNAL, OLD_READ, OLD_UNREAD, OVER = range(9)
REASONS = {
    OLD_READ: "read, and its time is over",
    OLD_UNREAD: "unread, but old and not about active work",
    OVER: "read by its addressee, beyond the number kept",
}

Watch = Callable[[float], None]  # is told the share that is done, 0 to 1


def unwatched(_: float) -> None:
    """Nobody looks."""


class RetentionRule(msgspec.Struct, frozen=True):
    """How long signals stay, in seconds; of those that their addressee has read, how many at most.

    What its addressee has not read stays, however old and however many. A signal to all has no list of addressees:
    it stays until every known reader has read it or the time of what is unread is over, and for a day in any case, for
    whoever looks for the first time. What is about active work stays.
    """

    read: float = 7 * DAY
    unread: float = 30 * DAY
    most_read: int = 500
    to_all: float = DAY  # so young a signal to all counts towards no number


class CleanupCounts(msgspec.Struct):
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


class RetentionResult:
    """The fates of the lines of one open file."""

    def __init__(self, fd: int, lines: LineMap, fates: bytearray) -> None:
        self.fd, self.fates = fd, fates
        self._lines = lines

    @property
    def end(self) -> int:
        """The offset behind the last line that was judged."""
        return self._lines.end

    @property
    def counts(self) -> CleanupCounts:
        """How many of each."""
        of = [self.fates.count(fate) for fate in range(OVER + 1)]
        return CleanupCounts(
            kept=sum(of[:NO_SIGNAL]),
            unread=of[UNREAD] + of[ACTIVE_UNREAD],
            active=of[ACTIVE_READ] + of[ACTIVE_UNREAD],
            removed_read=of[OLD_READ],
            removed_unread=of[OLD_UNREAD],
            removed_over=of[OVER],
        )

    def anchors(self, receipts: Iterable[Receipt]) -> dict[str, str]:
        """For each of these receipts whose signal leaves: the newest signal before it that stays, where one does."""
        found = {}
        for name, offset in locate(self.fd, receipts).items():
            if offset >= self._lines.end:
                continue
            ordinal = self._lines.ordinal(offset)
            if ordinal < len(self.fates) and self.fates[ordinal] > NO_SIGNAL:
                before = max(self.fates.rfind(fate, 0, ordinal) for fate in range(NO_SIGNAL))
                stays = slim(self._lines.line(before)) if before >= 0 else None
                if stays:
                    found[name] = stays.id
        return found


def judge(layout: Layout, fd: int, rule: RetentionRule, now: float, watch: Watch) -> RetentionResult:
    """The fate of every whole line of the open journal."""
    lines = LineMap(fd)
    judge = _Judge(layout, ReadState(layout, fd, lines, now - rule.unread), rule, now)
    fates, size = bytearray(), max(1, os.fstat(fd).st_size)
    for offset, block in whole_blocks(fd):
        fates.extend(judge.fates(slims(block), len(fates)))
        watch((offset + len(block)) / size)
    over = fates.count(READ) - rule.most_read
    if over > 0:
        fates = fates.replace(bytes([READ]), bytes([OVER]), over)  # the oldest
    return RetentionResult(fd, lines, fates)


class _Judge:
    """Decides line by line; what cannot be read stays where it is."""

    def __init__(self, layout: Layout, state: ReadState, rule: RetentionRule, now: float) -> None:
        units, _ = list_units(layout)
        self._units = {unit.id for unit in units if unit.status != "done"}
        self._lanes = {names.key(lane) for unit in units if (lane := unit.lane) and lanes.holders(layout, lane)}
        self._state, self._floor = state, state.floor
        self._read_before, self._unread_before = _moment(now - rule.read), _moment(now - rule.unread)
        self._fresh_from = _moment(now - rule.to_all)

    def fates(self, signals: Sequence[Slim | None], first: int) -> list[int]:
        """One for each; `first` is the number of the first line."""
        fate = self._fate
        return [NO_SIGNAL if one is None else fate(one, number) for number, one in enumerate(signals, first)]

    def _fate(self, signal: Slim, ordinal: int) -> int:
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
