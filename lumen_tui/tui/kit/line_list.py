"""The one virtual list: only the rows in view are asked for, and only the cells that changed are repainted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.keys import key_of, screen_bindings
from lumen_tui.tui.kit.lines import DrawnLines, Pointed, changed_span, fit, push, wrap
from lumen_tui.tui.kit.list_model import ListModel, Marks
from lumen_tui.tui.kit.query import Sifter
from lumen_tui.tui.room_command import ROWS
from lumen_tui.tui.theme import NO_APPEARANCE, Appearance

R = TypeVar("R")
Row = TypeVar("Row", contravariant=True)

_FAR = 500  # rows looked at, both ways, for one that stays


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


class LineList(Pointed, DrawnLines, Generic[R], can_focus=True):
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
        self._painted: dict[int, Strip] = {}
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

    def refresh_changed(self, first: int = 0, last: int = 1_000_000) -> None:
        """Repaint the cells that would look different now, and nothing else. Looks at lines first to last."""
        width = self.size.width
        for y in range(max(0, first), min(self.size.height, last + 1)):
            strip = self._strip(y)
            span = changed_span(self._painted.get(y), strip, width)
            if span is not None:
                self.refresh(Region(span[0], y, span[1], 1))
                self._drawn[y] = strip
            else:
                self._drawn.pop(y, None)

    def render_line(self, y: int) -> Strip:
        strip = self._painted[y] = self._drawn.pop(y) if y in self._drawn else self._strip(y)
        return strip.apply_style(self._ground or self.rich_style)

    def _strip(self, y: int) -> Strip:
        look = appearance_of(self.app)
        if isinstance(self.view, Rows):
            self.view.look = look  # which another theme, or a slow line, has changed since the list was opened
        if not len(self.model):
            empty = self.empty if isinstance(self.empty, str) else self.empty()
            text = f"Nothing matches the filter; {key_of(self, 'back')} shows all rows." if self.filter_text else empty
            return empty_strip(text, y, self.size.width, look)
        return row_strip(self, y, look)

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
        self._moved(*(before if name in _NEAR else ()))

    def _moved(self, top: int = -1, cursor: int = 0) -> None:
        """Repaint what a move changed: between the old row and the new one where the window stood still."""
        if top == self.model.top and not self.marks.ranging:
            rows = sorted((cursor - top, self.model.cursor - top))
            self.refresh_changed(rows[0], rows[1] + 1)
        else:
            self.refresh_changed()
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
        self.refresh_changed()

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
    rows._moved()


def empty_strip(text: str, y: int, width: int, look: Appearance) -> Strip:
    """Return a line of the words that stand in a list without rows."""
    lines = wrap(text, max(1, width - 2))
    return Strip([Segment(fit(" " + lines[y] if y < len(lines) else "", width), look.ink.muted)], width)


def row_strip(lines: LineList[R], y: int, look: Appearance) -> Strip:
    """Line `y` of the window: cursor or mark, the row, and the thumb that shows how far down one is."""
    width, model = lines.size.width, lines.model
    place = model.at_line(model.top + y)
    if place is None or width < 3:
        return Strip([Segment(" " * width, look.ink.text)], width)
    index, second = place
    row = model.row(index)
    marked = lines.view.key(row) in lines.marks.keys
    selected = index == model.cursor and lines.has_focus
    edge = _gutter(look, selected, marked and not second)
    room = width - 1 - len(edge)
    body = lines.view.more(row, room) if second else lines.view.line(row, room, selected, marked)
    drawn = [Segment(edge, look.ink.faint if edge == " " else look.ink.accent)]
    for segment in body:
        push(drawn, segment.text, segment.style or look.ink.text)
    push(drawn, " " if look.spoken else _thumb(model, y), look.ink.faint)
    return Strip(drawn, width)


def _gutter(look: Appearance, selected: bool, marked: bool) -> str:
    shapes = look.shapes
    if marked and look.spoken:
        return f"{shapes.cursor if selected else ' '}{shapes.mark} "
    if marked:
        return shapes.cursor_mark if selected else shapes.mark
    return shapes.cursor if selected else " "


def _thumb(model: ListModel[R], y: int) -> str:
    if model.lines <= model.height:
        return " "
    size = max(1, model.height * model.height // model.lines)
    start = round((model.height - size) * model.top / max(1, model.lines - model.height))
    return "▐" if start <= y < start + size else " "


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
