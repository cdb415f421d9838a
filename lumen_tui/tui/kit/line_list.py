"""The one virtual list: only the rows in view are asked for, and only the cells that changed are repainted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.color import Color
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.keys import key_of, screen_bindings
from lumen_tui.tui.kit.lines import Pointed, fit, wrap
from lumen_tui.tui.kit.list_lines import ListLines, RowView
from lumen_tui.tui.kit.list_model import ListModel, Marks
from lumen_tui.tui.kit.query import Sifter
from lumen_tui.tui.patches.changed_lines import bands
from lumen_tui.tui.room_command import ROWS
from lumen_tui.tui.theme import NO_APPEARANCE, Appearance

if TYPE_CHECKING:
    from typing import Self

R = TypeVar("R")

_FAR = 500  # rows looked at, both ways, for one that stays
_AHEAD = 0.025  # seconds behind a key: by then it is painted, with all that it set off


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


class LineList(Pointed, Generic[R], can_focus=True):
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
        super().__init__(id=id)
        self.view = view
        self.empty = empty
        self.two_lines = two_lines
        self.model: ListModel[R] = ListModel(view.key)
        self.marks: Marks[R] = Marks(self.model)
        self._just_focused = False  # until what was sent together with the focus is handled
        self._lines = ListLines(view, self.model, self.marks)
        self._grounds: tuple[Style, Color] | None = None  # of its own, once it was painted
        self._painted: dict[int, Strip] = {}
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

    @property
    def filter_text(self) -> str:
        """What the list is narrowed by."""
        return self.sifter.text

    def select_key(self, key: str) -> bool:
        """Put the cursor on a row; False where it is not in the list."""
        place = self.model.find(key, near=(self.model.cursor,))
        if place is None:
            return False
        self.model.move(place)
        self._moved()
        return True

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
        empty = self.empty if isinstance(self.empty, str) else self.empty()
        text = f"Nothing matches the filter; {key_of(self, 'back')} shows all rows." if self.filter_text else empty
        return [empty_strip(text, y, width, look) for y in window]

    def _make_ahead(self, name: str) -> None:
        """Make the lines that the same key would show next; where it is held down, it finds them made."""
        model = self.model
        if not (self.is_running and len(model)):
            return
        before = (model.top, model.cursor)
        model.move(_MOVES[name](model))
        self._ready(self._strips(self._lines_moved(*before)))
        model.top, model.cursor = before

    def _lines_moved(self, top: int, cursor: int) -> range:
        """Return the lines that a move from there changed: from row to row where the window stood still, else all."""
        height = self.size.height
        if top != self.model.top or self.marks.ranging:
            return range(height)
        first, last = sorted((cursor - top, self.model.cursor - top))
        return range(max(0, first), min(height, last + 2))

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
    """Put the cursor on the nearest row whose key is not among `keys`, further down where there is one."""
    model = rows.model
    here = model.cursor
    if len(model) and len(keys) < len(model):
        after = range(here, min(len(model), here + _FAR))
        before = range(here - 1, max(-1, here - _FAR), -1)
        near = (index for index in (*after, *before) if model.key(model.row(index)) not in keys)
        model.move(next(near, here))
    rows._lines.forget()
    rows._moved()


def empty_strip(text: str, y: int, width: int, look: Appearance) -> Strip:
    """Return a line of the words that stand in a list without rows."""
    lines = wrap(text, max(1, width - 2))
    return Strip([Segment(fit(" " + lines[y] if y < len(lines) else "", width), look.ink.muted)], width)


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
