"""The filter that `/` types (fuzzy words, `!word`, `field:value`), how a list is narrowed by it, and its line.

The line stands in place of the footer while the filter is typed. A large list is filtered in slices in a thread, so
that the event loop goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from lumen_tui.model import times
from lumen_tui.tui.kit.keys import screen_bindings

R = TypeVar("R")
Row = TypeVar("Row", contravariant=True)

_FUZZY_FROM = 5  # letters: shorter words must stand in the text as they are
_ALIKE = 79.0  # of 100: one wrong letter in five
_AGE = "age"  # the field that is compared: rows give it in seconds
_SIGNS = "<>="


class Term(msgspec.Struct, frozen=True):
    """One word of a filter, in lower case. `literal` where it must stand in the text as it is."""

    word: str
    field: str = ""
    out: bool = False
    literal: bool = False

    def fits(self, text: str, fields: Mapping[str, str]) -> bool:
        """Return whether a row with this text and these fields passes; both in lower case."""
        if self.field and self.field in fields:
            holds = _compares(self.word, fields[_AGE]) if self.field == _AGE else self.word in fields[self.field]
            return holds is not self.out
        word = f"{self.field}:{self.word}" if self.field else self.word
        if self.out:
            return word not in text
        return word in text or (not self.literal and _alike(word, text))


def _compares(word: str, seconds: str) -> bool:
    """Return whether an age fits `>7d` (older; also without a sign) or `<2h` (younger). A bare number is of days."""
    bare = word.lstrip(_SIGNS)
    try:
        limit = times.parse_duration(bare + ("d" if bare[-1:].isdigit() else ""))
    except ValueError:
        return False
    return float(seconds) < limit if word.startswith("<") else float(seconds) >= limit


def _alike(word: str, text: str) -> bool:
    from rapidfuzz import fuzz  # 40 ms that the first paint need not wait for

    return len(word) >= _FUZZY_FROM and fuzz.partial_ratio(word, text, score_cutoff=_ALIKE) > 0


class Query(msgspec.Struct, frozen=True):
    """All words must fit."""

    terms: tuple[Term, ...] = ()

    def fits(self, text: str, fields: Mapping[str, str]) -> bool:
        """Return whether a row passes. Give text and values as they are."""
        low = text.lower()
        values = {name: value.lower() for name, value in fields.items()} if self.asks_fields else {}
        return all(term.fits(low, values) for term in self.terms)

    @property
    def asks_fields(self) -> bool:
        """Whether any term names a field."""
        return any(term.field for term in self.terms)

    @property
    def fuzzy(self) -> bool:
        """Whether any word may be found misspelt."""
        return any(not (term.out or term.literal) and len(term.word) >= _FUZZY_FROM for term in self.terms)

    @property
    def literal(self) -> Query:
        """The same words, taken as they are."""
        return Query(tuple(msgspec.structs.replace(term, literal=True) for term in self.terms))


def parse(text: str) -> Query:
    """`retry !web role:builder age:>7d` as a query; a lone `!`, `field:` or `age:>` (still being typed) is left out."""
    return Query(tuple(term for word in text.lower().split() if (term := _term(word)).word.strip(_SIGNS)))


def _term(word: str) -> Term:
    out = word.startswith("!")
    bare = word[1:] if out else word
    field, colon, value = bare.partition(":")
    if colon and field.isalpha():
        return Term(value, field, out)
    return Term(bare, "", out)


class Searchable(Protocol[Row]):
    """What a filter asks of a row view."""

    def words(self, row: Row) -> str:
        """Return the text that words are looked for in."""

    def fields(self, row: Row) -> Mapping[str, str]:
        """Values by field name, for `field:value`."""


def passing(query: Query, rows: Sequence[R], view: Searchable[R], start: int, stop: int) -> list[int]:
    """Return which rows of a slice pass. Reads those that may: for large lists call it from a thread.

    Rows may have a method `having(words, start, stop)`: the places whose records may hold all of these words.
    """
    having = getattr(rows, "having", None)
    words = [term.word for term in query.terms if term.literal and not term.out and not term.field]
    places: Iterable[int] = having(words, start, stop) if having is not None and words else range(start, stop)
    matches = []
    for place in places:
        row = rows[place]
        if query.fits(view.words(row), view.fields(row) if query.asks_fields else {}):
            matches.append(place)
    return matches


def indices(query: Query, rows: Sequence[R], view: Searchable[R], start: int, stop: int) -> list[int]:
    """Return which rows of a slice pass. Reads every one of them: for large lists call it from a thread.

    Where rows have the words as they are, those that are merely alike are left out: `job17` is not `job18`.
    """
    literal, matches, exact = query.literal, [], []
    for index in range(start, stop):
        row = rows[index]
        text, fields = view.words(row), view.fields(row) if query.asks_fields else {}
        if literal.fits(text, fields):
            exact.append(index)
        elif not exact and query.fits(text, fields):
            matches.append(index)
    return exact or matches


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
        rows, matches = self._rows, list[int]()
        self.share, self._shown = 0.0, (rows, [])
        for start in range(0, len(rows), _SLICE):
            stop = min(len(rows), start + _SLICE)
            matches += await asyncio.to_thread(passing, query, rows, self._view, start, stop)
            if text != self.text:
                break
            self.share = stop / len(rows)
            self._shown = (rows, list(matches))
            if fresh:
                self._show(*self._shown)
        return bool(matches)


class FilterBar(Input):
    """What is typed; every change is sent at once."""

    SCOPE = "filter"
    BINDINGS: ClassVar[list[BindingType]] = screen_bindings("filter")

    class Typed(Message):
        """The filter reads like this now."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Closed(Message):
        """Typing is over; `keep` tells whether the filter stays."""

        def __init__(self, keep: bool) -> None:
            super().__init__()
            self.keep = keep

    def __init__(self) -> None:
        super().__init__(id="filter", placeholder="filter: words, !without, field:value", select_on_focus=False)
        self.cursor_blink = False

    def open(self, text: str) -> None:
        """Show the bar with what the list is narrowed by now."""
        self.value = text
        self.cursor_position = len(text)
        self._line.display = True
        self.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._line.display:
            self.post_message(self.Typed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """Go back to the list, narrowed."""
        self._close(keep=True)

    def action_drop(self) -> None:
        """Go back to the whole list."""
        self._close(keep=False)

    def _close(self, *, keep: bool) -> None:
        self._line.display = False
        self.post_message(self.Closed(keep))

    @property
    def _line(self) -> FilterLine:
        line = self.parent
        if not isinstance(line, FilterLine):
            raise LookupError("a filter bar stands in a filter line")
        return line


class FilterLine(Horizontal):
    """`/` and the bar, in place of the footer. Hidden until the bar is opened."""

    def __init__(self) -> None:
        super().__init__(id="filter-line")
        self.display = False

    def compose(self) -> ComposeResult:
        yield Static(Content("/"), id="filter-sign")
        yield FilterBar()
