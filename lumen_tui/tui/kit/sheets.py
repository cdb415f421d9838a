"""Sheets over the room: a list with its filter, a list that is read from the disk, a text to read in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.engine.port import Port
from lumen_tui.model.requests.base import Request
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import safe
from lumen_tui.tui.host import show_why
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.jobs import Loader, submit
from lumen_tui.tui.kit.keys import KeysLine, pair_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import edge_title
from lumen_tui.tui.kit.list_lines import Rows as Rows
from lumen_tui.tui.kit.parts import Fact, Facts, StatusLine
from lumen_tui.tui.kit.screen import DetailScreen, Keys, Result, note, retitle
from lumen_tui.tui.room_command import RoomCommand

R = TypeVar("R")

_OF_ROWS = frozenset({"open", "why", "filter", "mark", "mark_all", "copy"})
FILTERING = "-filtering"  # the class of a screen whose list is narrowed, or about to be


def beside(parts: Sequence[Widget], title: str = "") -> ComposeResult:
    """Yield the body of a list in one half; in the other the facts and the text of its selected row."""
    with Horizontal(classes="halves"):
        with Vertical(classes="half") as half:
            half.border_title = edge_title(title) if title else None
            yield from parts[:-1]
        with VerticalScroll(classes="half second detail"):
            yield Facts()
            yield Static(classes="prompt")
    yield from parts[-1:]


class ListSheet(DetailScreen[Result], Generic[Result, R]):
    """A sheet with one list. Subclasses give `rows_view` and `opened`."""

    SCOPE = "lists"
    EMPTY = "Nothing here."
    OF_ROWS: ClassVar[frozenset[str]] = frozenset()  # its commands that need a row, beside those of every list
    WHY = False  # whether `w` tells what caused a row: its key is an id that `why` knows
    TWO_LINES = False
    filled = False  # whether its rows are there: until then it is not known whether there are any

    def rows_view(self) -> Rows[R]:
        """Return how the rows are drawn."""
        raise NotImplementedError

    def opened(self, row: R) -> None:
        """Enter was pressed on a row."""

    def body(self) -> ComposeResult:
        rows = LineList(self.rows_view(), empty=self.EMPTY, two_lines=self.TWO_LINES, id="list")
        yield ListFilter(rows)
        yield rows
        yield StatusLine()

    def keys(self) -> Keys:
        return self.offer("open", "why", "filter", "back")

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""
        if command.action == "why" and command.scope == "lists" and not self.WHY:
            return "nothing here has a cause that is known"
        if self.filled and not self.rows.model.rows and command.action in _OF_ROWS | self.OF_ROWS:
            return "this list is empty"
        return super().why_not(command)

    def on_mount(self) -> None:
        self.rows.focus()

    @property
    def rows(self) -> LineList[R]:
        """The list."""
        found: LineList[R] = self.query_one("#list", LineList)
        return found

    def tick(self, now: float) -> None:
        """Paint what looks different now, and nothing else."""
        count_to(self.rows, now)
        self.rows.refresh_changed()

    def on_line_list_selected(self, event: LineList.Selected) -> None:
        if event.line_list is self.rows and self.rows.selected is not None:
            self.opened(self.rows.selected)

    def subjects(self) -> Sequence[str]:
        """Return what a command of the room is about: the marked rows, where they are what is repeated here."""
        return super().subjects() or (self.rows.targets() if self.REPEATS else ())

    def action_why(self) -> None:
        """Show what caused the row, and what came of it."""
        if self.WHY and (row := chosen_row(self)):
            show_why(self.app, self.rows.view.key(row))

    def action_filter(self) -> None:
        self.add_class(FILTERING)
        self.query_one(ListFilter).focus()

    def action_leave(self) -> None:
        if self.has_class(FILTERING):
            self.query_one(ListFilter).drop()
        else:
            self.dismiss(None)


def fill(sheet: ListSheet[Result, R], rows: Sequence[R], heading: str, aside: str = "") -> None:
    """Show other rows under a new title; `aside` is at the bottom right of the frame."""
    sheet.filled = True
    sheet.rows.set_rows(rows)
    retitle(sheet, heading, aside)
    sheet.query_one(KeysLine).show(sheet.keys())


def count_to(rows: LineList[R], now: float) -> None:
    """Count ages in the rows up to another moment; nothing is painted."""
    if isinstance(rows.view, Rows):
        rows.view.now = now


def chosen_row(sheet: ListSheet[Result, R]) -> R | None:
    """Return the row under the cursor, for a key that needs one; where there is none, that is said."""
    if sheet.rows.selected is None:
        sheet.say("Nothing is selected.", bad=True)
    return sheet.rows.selected


class ListFilter(TextField, Generic[R]):
    """The line above a list in which its filter is typed. The screen's class FILTERING shows it."""

    def __init__(self, rows: LineList[R]) -> None:
        super().__init__(placeholder="words, !word leaves out, field:value", id="filter")
        self.add_class("filter")
        self._rows = rows

    def on_input_changed(self, event: TextField.Changed) -> None:
        event.stop()
        self._rows.set_filter(event.value)

    def on_input_submitted(self, event: TextField.Submitted) -> None:
        """Go back to the list, narrowed."""
        event.stop()
        self.screen.set_class(bool(self._rows.filter_text), FILTERING)
        self._rows.focus()

    def drop(self) -> None:
        """Go back to the whole list."""
        self.value = ""
        self.screen.remove_class(FILTERING)
        self._rows.focus()


T = TypeVar("T")


class LoadedSheet(ListSheet[None, R], Generic[R, T]):
    """Subclasses show in `_loaded` what `read` gave. Until then the list does not say that it is empty.

    `failed` is called where it cannot be read; what was read before stays.
    """

    READING = "Reading …"

    def __init__(
        self, heading: str, now: float, read: Callable[[], T], failed: Callable[[], None] | None = None
    ) -> None:
        super().__init__(heading)
        self._now = now

        def loaded(result: T) -> None:
            self.rows.empty = self.EMPTY
            self._loaded(result)

        def unreadable(reason: str) -> None:
            if failed is not None:
                failed()
            self.rows.empty = "This cannot be read."
            self.rows.refresh_changed()
            self.say(reason, bad=True)

        self.loader: Loader[T] = Loader(self, read, loaded, unreadable)

    def _loaded(self, result: T) -> None:
        raise NotImplementedError

    def on_mount(self) -> None:
        super().on_mount()
        self.rows.empty = self.READING
        self.loader.load()

    def show(self, snapshot: Snapshot) -> None:
        """Read the list again: something changed."""
        self._now = snapshot.taken
        count_to(self.rows, self._now)
        self.loader.load()

    def tick(self, now: float) -> None:
        self._now = now
        super().tick(now)
        self.show_facts()

    def show_facts(self) -> None:
        """Put what is said of the selected row beside the list, where there is a place for it."""


async def act(sheet: LoadedSheet[R, T], port: Port, request: Request) -> None:
    """Carry out one action; once it is done, drop the marks that it used and read the list again."""
    if await submit(sheet, port, request):
        sheet.rows.marks.clear()
        sheet.loader.load()


class ReadingScreen(DetailScreen[Result]):
    """A text behind a gutter mark with its facts. Answers None; subclasses add keys."""

    SCOPE = "pages"

    def __init__(self, heading: str, text: str, facts: Sequence[Fact] = ()) -> None:
        super().__init__(heading)
        self._text = safe(text)
        self._facts = tuple(facts)

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="pages"):
            if self._text:
                yield Static(Content(self._text), classes="agent words")
            yield Facts(self._facts)

    def keys(self) -> Keys:
        return (pair_of(self, "line_down", "line_up", "move"), *self.offer("copy", "back"))

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._text)
        note(self, "The text is in the clipboard.")

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)
