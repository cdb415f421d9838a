"""The one virtual list: how one moves in it, marks and opens rows; only those in view are asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, TypeVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from lumen_tui.tui.kit.keys import key_of, screen_bindings
from lumen_tui.tui.kit.lines import Pointed
from lumen_tui.tui.kit.list_lines import PaintedRows, RowView
from lumen_tui.tui.kit.list_model import ListModel, Marks
from lumen_tui.tui.kit.query import Sifter
from lumen_tui.tui.room_command import ROWS

R = TypeVar("R")

_FAR = 500  # rows looked at, both ways, for one that stays
_AHEAD = 0.025  # seconds behind a key: by then it is painted, with all that it set off


class LineList(Pointed, PaintedRows[R], can_focus=True):
    """Rows of one line (the selected one of two, with `two_lines`) over any lazy sequence."""

    ALLOW_SELECT = False
    SCOPE = ROWS
    BINDINGS: ClassVar[list[BindingType]] = screen_bindings(ROWS)
    DEFAULT_CSS = "LineList { height: 1fr; width: 1fr; }"

    class ListMessage(Message):
        """Something about a list."""

        def __init__(self, line_list: LineList[Any]) -> None:
            super().__init__()
            self.line_list = line_list

        @property
        def control(self) -> LineList[Any]:
            return self.line_list

    class Highlighted(ListMessage):
        """The cursor, the rows, the marks or the filter changed."""

    class Selected(ListMessage):
        """The row under the cursor was opened."""

    def __init__(
        self, view: RowView[R], *, empty: str | Callable[[], str] = "", two_lines: bool = False, id: str | None = None
    ) -> None:
        super().__init__(view, id=id)
        self.empty = empty
        self.two_lines = two_lines
        self._just_focused = False  # until what was sent together with the focus is handled
        self._ahead: asyncio.TimerHandle | None = None  # makes the lines that the same key would show next
        self.moves = 0  # how often a person moved the cursor
        self.awaited = AwaitedRow(self)
        self.sifter: Sifter[R] = Sifter(view, self._show)

    @property
    def selected(self) -> R | None:
        """The row under the cursor."""
        return self.model.selected

    def targets(self) -> list[str]:
        """Keys of the marked rows, else of the selected one."""
        if self.marks.keys:
            return list(self.marks.keys)
        row = self.selected
        return [] if row is None else [self.view.key(row)]

    def set_rows(self, rows: Sequence[R]) -> None:
        """Show other rows; cursor, marks and filter stay."""
        self.sifter.set_rows(rows)

    def set_filter(self, text: str) -> None:
        """Narrow the list; the empty text shows all rows again."""
        self.sifter.set_text(text)

    def unmark(self) -> bool:
        """Drop the marks; False where there were none."""
        had = self.marks.clear()
        if had:
            self._moved()
        return had

    @property
    def filter_text(self) -> str:
        """What the list is narrowed by."""
        return self.sifter.text

    def empty_text(self) -> str:
        """Return what stands in a list without rows."""
        if self.filter_text:
            return f"Nothing matches the filter; {key_of(self, 'back')} shows all rows."
        return self.empty if isinstance(self.empty, str) else self.empty()

    def select_key(self, key: str) -> bool:
        """Put the cursor on a row; False where it is not in the list."""
        place = self.model.find(key, near=(self.model.cursor,))
        if place is None:
            return False
        self.model.move(place)
        self._moved()
        return True

    def _make_ahead(self, name: str) -> None:
        """Make the lines that the same key would show next; where it is held down, it finds them made."""
        model = self.model
        if not (self.is_running and len(model)):
            return
        before = (model.top, model.cursor)
        model.move(_MOVES[name](model))
        self._ready(self._strips(self._lines_moved(*before)))
        model.top, model.cursor = before

    def action_row(self, name: str) -> None:
        """Carry out one of the commands of the scope ROWS."""
        if name == "open":
            if self.selected is not None:
                self.post_message(self.Selected(self))
            return
        before = (self.model.top, self.model.cursor)
        self.moves += 1
        if name in _MARKING:
            _MARKING[name](self.marks)
        self.model.move(_MOVES.get(name, _stay)(self.model))
        self.marks.stretch()
        self._moved(self._lines_moved(*before) if name in _NEAR else None)
        if name in _MOVES:
            if self._ahead is not None:
                self._ahead.cancel()
            self._ahead = asyncio.get_running_loop().call_later(_AHEAD, self._make_ahead, name)

    def _moved(self, window: range | None = None) -> None:
        """Repaint what a move changed, in these lines of the window or in all."""
        self._repaint(window)
        self.post_message(self.Highlighted(self))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        line = self.model.top + event.y
        if self._just_focused and self.model.expanded and line > self.model.cursor:
            line += 1  # pressed before the focus, which the press gave, opened the second line
        place = self.model.at_line(line)
        if place is not None:
            self.moves += 1
            self.model.move(place[0])
            self.marks.stretch()
            self._moved()

    def scroll_lines(self, lines: int) -> None:
        self.model.top += lines
        self.model.clamp()
        self._repaint()

    def on_resize(self) -> None:
        self.model.height = max(1, self.size.height)
        self.model.reveal()
        self.refresh()

    def on_focus(self) -> None:
        self._expand(self.two_lines)
        # A press that gives the focus is in the queue already, right behind it; what is sent from now on comes later.
        self._just_focused = True
        self.call_later(_focus_is_handled, self)

    def on_blur(self) -> None:
        self._expand(False)

    def _expand(self, expanded: bool) -> None:
        self.model.expanded = expanded
        self.model.reveal()
        self._moved()

    def _show(self, rows: Sequence[R], order: Sequence[int] | None) -> None:
        self.model.replace(rows, order, follow=self.has_focus or self.model.cursor > 0)
        self._lines.forget()
        self._moved()
        self.awaited.select()


def _focus_is_handled(rows: LineList[Any]) -> None:
    """A function of its own: to count the parameters of `setattr` its signature would be parsed, for 1.5 ms."""
    rows._just_focused = False


def moved_by(key: str, focused: object) -> bool:
    """Move in the list that has the focus, as a key says; False where there is none, or the key is none that moves."""
    if not isinstance(focused, LineList):
        return False
    bound = focused._bindings.key_to_bindings.get(key, ())
    name = next((binding.id for binding in bound if binding.id in _MOVES), None)
    if name is not None:
        focused.action_row(name)
    return name is not None


class AwaitedRow:
    """A row that the cursor goes to when it arrives, unless a person moves the cursor before."""

    def __init__(self, lines: LineList[Any]) -> None:
        self._lines = lines
        self._key = ""
        self._moves = 0

    def expect(self, key: str, moves: int) -> None:
        """Select the row now or when it arrives; `moves` of the list as it was when the row was asked for."""
        self._key, self._moves = key, moves
        self.select()

    def select(self) -> None:
        """Select the row if it is there."""
        if self._key and (self._lines.moves != self._moves or self._lines.select_key(self._key)):
            self._key = ""


def step_past(rows: LineList[Any], keys: Collection[str]) -> None:
    """Put the cursor on the nearest row whose key is not among `keys`, further down where there is one.

    Some of the keys may be those of rows that are gone: how many there are says nothing about the rows.
    """
    model = rows.model
    here = model.cursor
    if len(model):
        after = range(here, min(len(model), here + _FAR))
        before = range(here - 1, max(-1, here - _FAR), -1)
        near = (index for index in (*after, *before) if model.key(model.row(index)) not in keys)
        model.move(next(near, here))
    rows._lines.forget()
    rows._moved()


_MARKING: dict[str, Callable[[Marks[Any]], None]] = {
    "mark": Marks.toggle, "range": Marks.start_or_end_range, "mark_all": Marks.all,
}  # fmt: skip
_NEAR = ("down", "up", "mark", "half_down", "half_up")
_MOVES: dict[str, Callable[[ListModel[Any]], int]] = {
    "down": lambda m: m.cursor + 1,
    "mark": lambda m: m.cursor + 1,
    "up": lambda m: m.cursor - 1,
    "top": lambda m: 0,
    "bottom": lambda m: len(m) - 1,
    "half_down": lambda m: m.cursor + max(1, m.height // 2),
    "half_up": lambda m: m.cursor - max(1, m.height // 2),
    "page_down": lambda m: m.cursor + max(1, m.height - 1),
    "page_up": lambda m: m.cursor - max(1, m.height - 1),
}


def _stay(model: ListModel[Any]) -> int:
    return model.cursor
