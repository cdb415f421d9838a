"""Filtering of lists of any size without holding up the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from lumen_tui.tui.kit.query import Query, Searchable, indices, parse, passing

R = TypeVar("R")

_AT_ONCE = 2_000  # rows that are filtered right away
_SLICE = 10_000  # rows that a thread filters before the screen is shown what was found so far


class Sifter(Generic[R]):
    """Holds the newest rows and the filter, and hands out what passes: `show(rows, order)`."""

    def __init__(self, view: Searchable[R], show: Callable[[Sequence[R], Sequence[int] | None], None]) -> None:
        self._view = view
        self._show = show
        self._rows: Sequence[R] = ()
        self._job: asyncio.Task[None] | None = None
        self._shown: tuple[Sequence[R], Sequence[int] | None] = ((), None)
        self._again = False
        self.text = ""
        self.share = 1.0  # how much of the rows was looked through

    def set_rows(self, rows: Sequence[R]) -> None:
        """Take newer rows. While a large list is being filtered they wait for its end."""
        self._rows = rows
        self._sift(fresh=False)

    def set_text(self, text: str) -> None:
        """Take another filter."""
        if text != self.text:
            self.text = text
            self._sift(fresh=True)

    def _sift(self, *, fresh: bool) -> None:
        rows, query = self._rows, parse(self.text)
        if not query.terms:
            self._show(rows, None)
        elif len(rows) <= _AT_ONCE:
            self._show(rows, indices(query, rows, self._view, 0, len(rows)))
        elif self._job is not None:
            self._again = True
        else:
            self._job = asyncio.create_task(self._slowly(query, self.text, fresh))

    async def _slowly(self, query: Query, text: str, fresh: bool) -> None:
        """Rows with the words as they are; where there are none at all, those with words that are merely alike."""
        try:
            if not await self._pass(query.literal, text, fresh) and query.fuzzy and text == self.text:
                await self._pass(query, text, fresh)
        finally:  # a row that cannot be read ends this look, and not every one after it
            self._job, self.share = None, 1.0
        if text != self.text or self._again:
            self._again = False
            self._sift(fresh=text != self.text)
        else:
            self._show(*self._shown)

    async def _pass(self, query: Query, text: str, fresh: bool) -> bool:
        """Filter in slices; what was found is shown as it comes where the filter itself is new."""
        rows, found = self._rows, list[int]()
        self.share, self._shown = 0.0, (rows, [])
        for start in range(0, len(rows), _SLICE):
            stop = min(len(rows), start + _SLICE)
            found += await asyncio.to_thread(passing, query, rows, self._view, start, stop)
            if text != self.text:
                break
            self.share = stop / len(rows)
            self._shown = (rows, list(found))
            if fresh:
                self._show(*self._shown)
        return bool(found)
