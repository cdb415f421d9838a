"""How a virtual list paints: each line is made once, and again when its row may look different."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.lines import fit, push, wrap
from lumen_tui.tui.kit.list_model import ListModel, Marks
from lumen_tui.tui.patches.changed_lines import bands
from lumen_tui.tui.theme import NO_APPEARANCE, Appearance

if TYPE_CHECKING:
    from typing import Self

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


class Rows(Generic[R]):
    """How the rows of one list are drawn. Subclasses give `key`, `line` and `words`. Ages are counted up to `now`."""

    def __init__(self, look: Appearance = NO_APPEARANCE, now: float = 0.0) -> None:
        self.look = look
        self.now = now

    def key(self, row: R) -> str:
        """Return the id of a row."""
        raise NotImplementedError

    def line(self, row: R, width: int, selected: bool, marked: bool) -> list[Segment]:
        """Return the row on `width` cells."""
        raise NotImplementedError

    def more(self, row: R, width: int) -> list[Segment]:
        """Return the second line of the selected row, where the list shows one."""
        return [Segment(" " * width)]

    def words(self, row: R) -> str:
        """Return what a filter looks through."""
        raise NotImplementedError

    def fields(self, row: R) -> Mapping[str, str]:
        """Values by name, for `field:value` in a filter."""
        return {}


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


class PaintedRows(Widget, Generic[R]):
    """The widget of a virtual list, as far as it paints: rows that nobody moves in yet."""

    def __init__(self, view: RowView[R], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = view
        self.model: ListModel[R] = ListModel(view.key)
        self.marks: Marks[R] = Marks(self.model)
        self._lines = ListLines(view, self.model, self.marks)
        self._grounds: tuple[Style, Color] | None = None  # of its own, once it was painted
        self._painted: dict[int, Strip] = {}

    def empty_text(self) -> str:
        """Return what stands in a list without rows."""
        raise NotImplementedError

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """As Textual has it; with no region all lines are made anew, in what are the list's own colours then."""
        if not regions:
            self._lines.forget()
            self._grounds = None
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def refresh_changed(self) -> None:
        """Repaint the lines that would look different now, and no others. Rows are made anew."""
        self._lines.forget()
        self._repaint()

    def _repaint(self, window: range | None = None) -> None:
        """Repaint of these lines of the window, or of all, those that look different now."""
        window = range(self.size.height) if window is None else window
        strips, painted = self._strips(window), self._painted
        changed = [y for y, strip in zip(window, strips, strict=True) if y not in painted or painted[y] != strip]
        if changed:
            self.refresh(*(Region(0, band.start, self.size.width, len(band)) for band in bands(changed)))

    def render_lines(self, crop: Region) -> list[Strip]:
        """As Textual has it for a widget with neither frame nor padding, in a tenth of the time."""
        strips = self._strips(crop.line_range)
        self._painted.update(zip(crop.line_range, strips, strict=True))
        ready = self._ready(strips)
        whole = crop.column_span == (0, self.size.width)
        return ready if whole else [strip.crop(*crop.column_span) for strip in ready]

    def render_line(self, y: int) -> Strip:
        return self._ready(self._strips([y]))[0]

    def _ready(self, strips: list[Strip]) -> list[Strip]:
        """Return lines on the list's ground and behind the filters; each strip remembers how that looks."""
        if self._grounds is None:
            self._grounds = self.rich_style, self.background_colors[1]
        ground, background = self._grounds
        ready = [strip.apply_style(ground) for strip in strips]
        for line_filter in self.get_line_filters():
            ready = [strip.apply_filter(line_filter, background) for strip in ready]
        return ready

    def _strips(self, window: Iterable[int]) -> list[Strip]:
        """Return lines of the window."""
        look, width = appearance_of(self.app), self.size.width
        if isinstance(self.view, Rows):
            self.view.look = look  # which another theme, or a slow line, has changed since the list was opened
        if len(self.model):
            return self._lines.of(window, width, self.has_focus, look)
        text = self.empty_text()
        return [_empty_strip(text, y, width, look) for y in window]

    def _lines_moved(self, top: int, cursor: int) -> range:
        """Return the lines that a move from there changed: from row to row where the window stood still, else all."""
        height = self.size.height
        if top != self.model.top or self.marks.ranging:
            return range(height)
        first, last = sorted((cursor - top, self.model.cursor - top))
        return range(max(0, first), min(height, last + 2))


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


def _empty_strip(text: str, y: int, width: int, look: Appearance) -> Strip:
    """Return a line of the words that stand in a list without rows."""
    lines = wrap(text, max(1, width - 2))
    return Strip([Segment(fit(" " + lines[y] if y < len(lines) else "", width), look.ink.muted)], width)
