"""Journals by the dates of their lines: how far one went at a moment, and what stands on either side of it.

Lines are in the order of their dates, so that few of them are read. Where a clock was set back they are not: a journal
then went as far as the first line, behind the place that the search comes to, that is later.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from lumen_tui.model import times
from lumen_tui.storage import backwards, files
from lumen_tui.storage.line_access import split_lines, whole_blocks

_NEAR = 32 * 1024  # bytes between the bounds of a search from which all lines are read
_LINE = 64 * 1024  # bytes in which a date is looked for
Wanted = Callable[[bytes], bool]


class DatedLine(NamedTuple):
    """A line with its date, in seconds since 1970."""

    at: float
    line: bytes


class DatedLines:
    """One journal whose lines have their date in `field`; a journal that is not there has no lines."""

    def __init__(self, path: Path, field: bytes) -> None:
        self.path = path
        self._date = re.compile(rb'"%s": ?"([^"]{19,40})"' % field)

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        try:
            fd = files.open_plain(self.path)
        except (FileNotFoundError, files.StoreError, OSError):
            yield None
            return
        try:
            yield fd
        finally:
            os.close(fd)

    def end_at(self, moment: float) -> int:
        """Return the offset behind the last line that is not after a moment."""
        with self._opened() as fd:
            return 0 if fd is None else self._end(fd, moment)

    def after(self, moment: float, wanted: Wanted = bool) -> DatedLine | None:
        """Return the first line after a moment that is `wanted`; None where there is none."""
        with self._opened() as fd:
            if fd is None:
                return None
            blocks = whole_blocks(fd, self._end(fd, moment), _NEAR)
            lines = (line for start, block in blocks for _, line in split_lines(block, start))
            return next((dated for line in lines if wanted(line) and (dated := self._dated(line)).at > moment), None)

    def before(self, moment: float, wanted: Wanted = bool) -> DatedLine | None:
        """Return the last line before a moment that is `wanted`; None where there is none."""
        with self._opened() as fd:
            if fd is None:
                return None
            lines = (self._dated(line) for _, line in backwards.lines(fd, self._end(fd, moment)) if wanted(line))
            return next((dated for dated in lines if 0 < dated.at < moment), None)

    def date_of(self, line: bytes) -> float:
        """Return the date of a line, in seconds since 1970; 0 where it has none that can be read."""
        match = self._date.search(line)
        return times.epoch(match[1].decode(errors="replace")) if match else 0.0

    def _dated(self, line: bytes) -> DatedLine:
        return DatedLine(self.date_of(line), line)

    def _end(self, fd: int, moment: float) -> int:
        low, high = 0, os.fstat(fd).st_size
        while high - low > _NEAR:
            middle = backwards.line_start(fd, (low + high) // 2)
            if middle <= low:  # a line longer than that
                low, high = low, low + _NEAR
            elif self.date_of(os.pread(fd, _LINE, middle)) > moment:
                high = middle
            else:
                low = middle
        return self._walked(fd, low, moment)

    def _walked(self, fd: int, begin: int, moment: float) -> int:
        """Return the offset of the first line from `begin` on that is later; that of the end where there is none."""
        end = begin
        for start, block in whole_blocks(fd, begin):
            for offset, line in split_lines(block, start):
                if self.date_of(line) > moment:
                    return offset
                end = offset + len(line) + 1
        return end
