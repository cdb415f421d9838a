"""The signals of an earlier moment, and which of them one reader had seen by then, without reading them again."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from lumen_tui.model import times
from lumen_tui.model.records import EVERYONE, Receipt, Signal, SignalRow, decode_receipt, decode_signal
from lumen_tui.storage.dated_lines import DatedLines
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.store.signals.signal_index import READ, UNREAD, SignalIndex, SignalList

_LOOKED_AT = 100_000  # newest signals, for receipts that do not say where theirs is


class SignalsThen(NamedTuple):
    """The signals of one moment, newest first, how many were unread, and those of them that were urgent."""

    rows: Sequence[SignalRow]
    unread: int
    urgent: list[Signal]


class _Seen(NamedTuple):
    """A receipt: when, of which signal, and whether of each one before it, too."""

    at: float
    ordinal: int
    upto: bool


class SignalHistory(SignalIndex):
    """The index of now, with the receipts by their dates. A signal that says itself that it is read always was."""

    def __init__(self, layout: Layout, reader: str) -> None:
        super().__init__(layout, reader)
        self._dates = DatedLines(layout.signals, b"created_at")
        self._log = Follower(layout.receipts)
        self._read: list[_Seen] = []
        self._own = bytearray()  # what is read without a receipt
        self._as_of: object = None
        self._names, self._names_of = dict[str, int](), -1

    def close(self) -> None:
        """Close the journals. Rows that were handed out can still be read."""
        super().close()
        self._log.close()

    def at(self, moment: float, urgent: int) -> SignalsThen:
        """Return the signals of a moment, with so many of the newest unread P0 ones."""
        self._catch_up()
        if self._file is None:
            return SignalsThen((), 0, [])
        end = self._dates.end_at(moment)
        count = bisect_left(self._offsets, end)
        seen = self._own[:count]
        read = self._read[: bisect_right(self._read, moment, key=lambda one: one.at)]
        whole = min(count, max((one.ordinal + 1 for one in read if one.upto), default=0))
        seen[:whole] = bytes([READ]) * whole
        for one in read:
            if one.ordinal < count:
                seen[one.ordinal] = READ
        first = bisect_left(self._p0, count)
        places = [at for at in reversed(self._p0[:first]) if seen[at] == UNREAD][:urgent]
        shown = [decode_signal(self._file.line(self._offsets[at])) for at in places]
        return SignalsThen(SignalList(self._file, self._offsets, bytes(seen), end), seen.count(UNREAD), shown)

    def _catch_up(self) -> None:
        """Take in what is new of both journals."""
        while (self.changed() or not self._begun) and self.refresh():
            pass
        if (self.revision, self._log.generation) == self._as_of and not self._log.changed():
            return
        self._log.start_over()
        self._read = []
        for offset, data in self._log.pieces():
            for _, line in split_lines(data, offset):
                receipt = decode_receipt(line)
                if receipt and receipt.reader in (self._reader, EVERYONE):
                    self._note_date(receipt)
        self._own = bytearray(self._seen)
        for one in self._read:
            first = 0 if one.upto else one.ordinal
            self._own[first : one.ordinal + 1] = bytes([UNREAD]) * (one.ordinal + 1 - first)
        self._as_of = (self.revision, self._log.generation)

    def _note_date(self, receipt: Receipt) -> None:
        """Take in a receipt; one whose signal is gone, or far back without its place, belongs to none."""
        ordinal = self._find(receipt)
        if ordinal is None:
            ordinal = self._by_name().get(receipt.signal_id)
        if ordinal is not None:
            at = max([times.epoch(receipt.read_at), *(one.at for one in self._read[-1:])])
            self._read.append(_Seen(at, ordinal, receipt.upto))

    def _by_name(self) -> dict[str, int]:
        """Return the newest signals by their ids: read once, for receipts that do not say where theirs is."""
        count = len(self._offsets)
        if self._names_of != count:
            self._names_of = count
            self._names = {self._id(at): at for at in range(max(0, count - _LOOKED_AT), count)}
        return self._names
