"""The totals of the ledger as they were at an earlier moment: what counts today is made of the last two days."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

import msgspec

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.spendbook import Book, LedgerEntry
from lumen_tui.storage import files
from lumen_tui.storage.dated_lines import DatedLines
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.store.ledger import ledger_pages

_BEFORE = 2 * times.DAY  # that count before a moment: a budget's day, and the holds that are still open
_AFTER = times.DAY  # read with them: one steps on from there
_SAVED_EVERY = 256  # entries after which the totals are put aside, so that a step back is short
_entry = lazy_decoder(LedgerEntry)
_book = lazy_decoder(Book)


class LedgerPast:
    """The totals of one moment after another. Not safe for use by two threads at once."""

    def __init__(self, layout: Layout) -> None:
        self._path = layout.spend
        self._from = self._to = 0.0
        self._begin_again()

    def _begin_again(self) -> None:
        self._entries: list[LedgerEntry] = []
        self._dates: list[float] = []
        self._saved: list[bytes] = []
        self._book, self._taken = Book(), 0

    def book_at(self, moment: float, now: float) -> Book:
        """Return the totals as they were; they are changed by the next call. `now` is the present."""
        if not self._from + _BEFORE <= moment <= self._to:
            self._load(moment, now)
        wanted = bisect_right(self._dates, moment)
        if wanted < self._taken:
            mark = wanted // _SAVED_EVERY
            self._book, self._taken = _book.decode(self._saved[mark]), mark * _SAVED_EVERY
        for place in range(self._taken, wanted):
            if place == len(self._saved) * _SAVED_EVERY:
                self._saved.append(msgspec.json.encode(self._book))
            self._book.take(self._entries[place])
        self._taken = wanted
        return self._book

    def _load(self, moment: float, now: float) -> None:
        """Read what counts at a moment and around it; what is still being written is read anew each time."""
        self._begin_again()
        self._from, self._to = moment - _BEFORE, min(moment + _AFTER, now - 1)
        for page in (*ledger_pages.pages(self._path), self._path):
            for entry in _between(page, self._from, moment + _AFTER):
                self._entries.append(entry)
                self._dates.append(max([times.epoch(entry.at), *self._dates[-1:]]))


def _between(page: Path, begin: float, end: float) -> Iterator[LedgerEntry]:
    """Yield the entries of a page from one moment to another; damaged lines are passed over."""
    journal = DatedLines(page, b"at")
    start, stop = journal.end_at(begin), journal.end_at(end)
    if start >= stop:
        return
    fd = files.open_plain(page)
    try:
        data = os.pread(fd, stop - start, start)
    finally:
        os.close(fd)
    for _, line in split_lines(data, start):
        try:
            yield _entry.decode(line)
        except (*UNDECODABLE, OverflowError):
            continue
