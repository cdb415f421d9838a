"""The state of a virtual list: rows that are read when seen, a cursor that follows its row, marks, the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

R = TypeVar("R")

_CACHE = 512  # rows kept for one revision
_NEARBY = 120  # rows looked through, both ways, for the row under the cursor after a change
_STEP = 2  # lines beyond the edge that are a step rather than a jump
_MARK_LIMIT = 10_000  # rows that one range or `*` may mark


class ListModel(Generic[R]):
    """Rows, an optional filter order over them, the cursor and the first line that is shown."""

    def __init__(self, key: Callable[[R], str]) -> None:
        self.key = key
        self.rows: Sequence[R] = ()
        self.order: Sequence[int] | None = None  # indices into `rows` that passed the filter
        self.cursor = 0
        self.top = 0  # first line in the window
        self.height = 1
        self.expanded = False  # whether the row under the cursor takes a second line
        self._seen: dict[int, R] = {}

    def __len__(self) -> int:
        return len(self.rows) if self.order is None else len(self.order)

    @property
    def lines(self) -> int:
        """Lines of the whole list."""
        count = len(self)
        return count + 1 if count and self.expanded else count

    def row(self, index: int) -> R:
        """Return the row at a position of the (filtered) list."""
        where = index if self.order is None else self.order[index]
        if where not in self._seen:
            if len(self._seen) >= _CACHE:
                self._seen.clear()
            self._seen[where] = self.rows[where]
        return self._seen[where]

    @property
    def selected(self) -> R | None:
        """The row under the cursor."""
        return self.row(self.cursor) if len(self) else None

    def at_line(self, line: int) -> tuple[int, bool] | None:
        """Position of the row on a line of the list, and whether it is its second line."""
        if not 0 <= line < self.lines:
            return None
        if not self.expanded or line <= self.cursor:
            return line, False
        return (line - 1, False) if line > self.cursor + 1 else (self.cursor, True)

    def move(self, index: int) -> None:
        """Put the cursor on a position, held inside the list, and bring it into the window."""
        self.cursor = max(0, min(index, len(self) - 1))
        self.reveal()

    def reveal(self) -> None:
        """Page the window so that the cursor is in it: whole pages, so that most moves repaint two rows."""
        first, last = self.cursor, self.cursor + (1 if self.expanded else 0)
        keep = 1 if self.height > 4 else 0  # a line of what was there before
        below = last - (self.top + self.height)
        if first < self.top:
            self.top = last - self.height + 1 + keep if self.top - first <= _STEP else first
        elif below >= 0:
            self.top = first - keep if below < _STEP else last - self.height + 1
        self.clamp()

    def clamp(self) -> None:
        """Keep the window inside the list."""
        self.top = max(0, min(self.top, self.lines - self.height))

    def replace(self, rows: Sequence[R], order: Sequence[int] | None, *, follow: bool = True) -> None:
        """Take new rows; with `follow` the cursor stays on its row, and so does the window where it was scrolled."""
        before, old_length = self.selected, len(self)
        self.rows, self.order, self._seen = rows, order, {}
        was = self.cursor
        if before is not None and follow:
            position = self.find(self.key(before), near=(was, was + len(self) - old_length))
            self.cursor = was if position is None else position
        self.cursor = max(0, min(self.cursor, len(self) - 1))
        if self.top > 0:
            self.top += self.cursor - was
        self.clamp()
        if follow:
            self.reveal()

    def find(self, key: str, near: tuple[int, ...] = ()) -> int | None:
        """Position of the row with a key: where it is likely, else by the rows' own index, else near the front."""
        count = len(self)
        for guess in near:
            if 0 <= guess < count and self.key(self.row(guess)) == key:
                return guess
        own = getattr(self.rows, "index_of", None)
        if own is not None and self.order is None:
            position = own(key)
            return None if position is None or position < 0 else int(position)
        return next((i for i in self._around(near or (0,)) if self.key(self.row(i)) == key), None)

    def _around(self, near: tuple[int, ...]) -> list[int]:
        count = len(self)
        spans = [range(max(0, at - _NEARBY), min(count, at + _NEARBY)) for at in near]
        return sorted({index for span in spans for index in span} | set(range(min(count, _NEARBY))))


class Marks(Generic[R]):
    """Marked rows by key, and the range that is being drawn."""

    def __init__(self, model: ListModel[R]) -> None:
        self._model = model
        self.keys: dict[str, None] = {}  # in the order in which they were marked
        self._anchor: str | None = None
        self._before: dict[str, None] = {}

    @property
    def ranging(self) -> bool:
        """Whether `v` is on."""
        return self._anchor is not None

    def toggle(self) -> None:
        """Mark or unmark the row under the cursor."""
        row = self._model.selected
        if row is None:
            return
        key = self._model.key(row)
        if key in self.keys:
            del self.keys[key]
        else:
            self.keys[key] = None

    def start_or_end_range(self) -> None:
        """Begin a range at the cursor; the second time keep what it covers."""
        row = self._model.selected
        if self._anchor is not None or row is None:
            self._anchor = None
            return
        self._anchor, self._before = self._model.key(row), dict(self.keys)
        self.stretch()

    def stretch(self) -> None:
        """Cover what lies between the anchor and the cursor."""
        if self._anchor is None:
            return
        start = self._model.find(self._anchor, near=(self._model.cursor,))
        if start is None:
            return
        first, last = sorted((start, self._model.cursor))
        self.keys = dict(self._before) | self._span(first, last + 1)

    def all(self) -> None:
        """Mark every row of the (filtered) list, or none where all are marked."""
        every = self._span(0, len(self._model))
        self.keys = {} if every.keys() == self.keys.keys() else every

    def clear(self) -> bool:
        """Drop the range and the marks; False where there were none."""
        had = bool(self.keys) or self.ranging
        self.keys, self._anchor = {}, None
        return had

    def _span(self, start: int, stop: int) -> dict[str, None]:
        model = self._model
        return {model.key(model.row(index)): None for index in range(start, min(stop, start + _MARK_LIMIT))}
