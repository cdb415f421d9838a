"""The lines of a virtual list as they look now: each is made once, and again when its row may look different."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

from rich.segment import Segment
from textual.strip import Strip

from lumen_tui.tui.kit.lines import push
from lumen_tui.tui.kit.list_model import ListModel, Marks
from lumen_tui.tui.theme import NO_APPEARANCE, Appearance

R = TypeVar("R")
Row = TypeVar("Row", contravariant=True)

_KEPT = 256  # lines: some pages in a high window
_LEAST = 3  # cells of a row: in fewer there is nothing to see


class RowView(Protocol[Row]):
    """What a list must know of its rows. Text goes through `cells.fit`, never through markup."""

    def key(self, row: Row) -> str:
        """Return the id of a row: the cursor and the marks follow it."""

    def line(self, row: Row, width: int, selected: bool, marked: bool) -> list[Segment]:
        """Return the row on `width` cells."""

    def more(self, row: Row, width: int) -> list[Segment]:
        """Return the second line of the selected row, where the list shows one."""

    def words(self, row: Row) -> str:
        """Return what a filter looks through; also what `copy` puts into the clipboard."""

    def fields(self, row: Row) -> Mapping[str, str]:
        """Values by name, for `field:value` in a filter."""


class _Line(NamedTuple):
    """All that the look of a line depends on, as long as its row looks the same."""

    place: int  # of its row in the list
    second: bool  # whether it is the second line of its row
    selected: bool
    marked: bool
    thumb: bool  # whether the thumb, which shows how far down one is, stands at its end
    width: int


class ListLines(Generic[R]):
    """Lines that were made stay as they are until `forget`, wherever the cursor and the window go."""

    def __init__(self, view: RowView[R], model: ListModel[R], marks: Marks[R]) -> None:
        self._view, self._model, self._marks = view, model, marks
        self._look = NO_APPEARANCE
        self._made: dict[_Line, Strip] = {}

    def forget(self) -> None:
        """Make all of them again: rows may look different now."""
        self._made.clear()

    def of(self, window: Iterable[int], width: int, focused: bool, look: Appearance) -> list[Strip]:
        """Return lines of the window."""
        if look is not self._look:  # another theme, or a slow line
            self._look = look
            self.forget()
        model, marks = self._model, self._marks.keys
        thumb = _thumb(model)
        strips = []
        for y in window:
            place = model.at_line(model.top + y)
            if place is None or width < _LEAST:
                strips.append(Strip([Segment(" " * width, look.ink.text)], width))
                continue
            index, second = place
            marked = bool(marks) and self._view.key(model.row(index)) in marks
            line = _Line(index, second, focused and index == model.cursor, marked, y in thumb, width)
            strips.append(self._made.get(line) or self._make(line))
        return strips

    def _make(self, line: _Line) -> Strip:
        """Make a line: cursor or mark, the row, and the thumb."""
        view, look, row = self._view, self._look, self._model.row(line.place)
        edge = _gutter(look, line.selected, line.marked and not line.second)
        room = line.width - 1 - len(edge)
        body = view.more(row, room) if line.second else view.line(row, room, line.selected, line.marked)
        drawn = [Segment(edge, look.ink.faint if edge == " " else look.ink.accent)]
        for segment in body:
            push(drawn, segment.text, segment.style or look.ink.text)
        push(drawn, "▐" if line.thumb and not look.spoken else " ", look.ink.faint)
        if len(self._made) >= _KEPT:
            self.forget()
        strip = self._made[line] = Strip(drawn, line.width)
        return strip


def _gutter(look: Appearance, selected: bool, marked: bool) -> str:
    shapes = look.shapes
    if marked and look.spoken:
        return f"{shapes.cursor if selected else ' '}{shapes.mark} "
    if marked:
        return shapes.cursor_mark if selected else shapes.mark
    return shapes.cursor if selected else " "


def _thumb(model: ListModel[R]) -> range:
    """Return the lines of the window beside which the thumb stands; none where the window shows all of the list."""
    if model.lines <= model.height:
        return range(0)
    size = max(1, model.height * model.height // model.lines)
    start = round((model.height - size) * model.top / max(1, model.lines - model.height))
    return range(start, start + size)
