"""Lines made of columns, cut and padded by cell width, never markup; and widgets that repaint only changed cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from lumen_tui.model.snapshot import Need
from lumen_tui.model.tasks import Status
from lumen_tui.model.text import safe
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.keys import screen_bindings
from lumen_tui.tui.room_command import ROWS
from lumen_tui.tui.theme import NO_APPEARANCE, Appearance, Shapes

GAP = 2  # blank cells between columns
_LONGEST = 2000  # characters of a cell that are looked at


class Cell(NamedTuple):
    """One column of a line. `width` 0 takes what the others leave; only one cell of a line may be so."""

    text: str
    style: Style
    width: int = 0
    right: bool = False
    gap: int = GAP  # blanks before it


def sign(text: str, style: Style, gap: int = GAP) -> Cell:
    """Return a column for a sign, which is a word where the screen is read aloud."""
    return Cell(text, style, max(1, cell_len(text)), gap=gap)


WRONG = frozenset({Need.ENGINE, Need.FAILED, Need.LOST, Need.PROBLEM})
_STATUS = {Need.FAILED: Status.FAILED, Need.LOST: Status.LOST, Need.STALLED: Status.STALLED}


def need_shape(need: Need, shapes: Shapes) -> str:
    """Return the mark of a need: what waits for an answer, the state of a task, or that of everything else."""
    if need in (Need.APPROVAL, Need.QUESTION):
        return shapes.waits
    return shapes.status[_STATUS[need]] if need in _STATUS else shapes.need


def diff_line(text: str, look: Appearance) -> str:
    """Return a line of a unified diff; where it is read aloud its sign is a word."""
    if not look.spoken or text.startswith(("+++", "---")):
        return text
    told = {"+": f"{look.shapes.added} ", "-": f"{look.shapes.removed} "}
    return told.get(text[:1], text[:1]) + text[1:]


def edge_title(text: str) -> Content:
    """Return a title for a frame that has an upper edge alone: Textual puts blanks beside corners only."""
    return Content(f" {text} " if text else "")


def fit(text: str, width: int, *, right: bool = False) -> str:
    """`text` on exactly `width` cells: padded, or cut with an ellipsis. Made safe on the way."""
    if width <= 0:
        return ""
    flat = text if text.isascii() and text.isprintable() else _flat(text)
    size = len(flat) if flat.isascii() else cell_len(flat)
    if size > width:
        return set_cell_size(flat, width - 1) + "…"
    blank = " " * (width - size)
    return blank + flat if right else flat + blank


def _flat(text: str) -> str:
    return safe(text[:_LONGEST]).replace("\n", " ").replace("\t", " ")


def line(width: int, cells: Iterable[Cell]) -> list[Segment]:
    """Return the cells side by side on `width` cells. What does not fit is cut at the end."""
    columns = [cell for cell in cells if cell.width >= 0]
    fixed = sum(cell.width + (cell.gap if index else 0) for index, cell in enumerate(columns))
    segments: list[Segment] = []
    room = width
    for index, cell in enumerate(columns):
        gap = min(cell.gap if index else 0, room)
        size = min(cell.width or max(0, width - fixed), room - gap)
        room -= gap + size
        push(segments, " " * gap + fit(cell.text, size, right=cell.right), cell.style)
    return segments


def push(segments: list[Segment], text: str, style: Style) -> None:
    """Append, joined to the last segment where the style is the same: every segment costs bytes on the wire."""
    body = text.lstrip(" ")
    if segments and len(body) < len(text):
        # Blanks go to the piece before: a piece then begins where its words do.
        last = segments[-1]
        segments[-1] = Segment(last.text + text[: len(text) - len(body)], last.style)
        text = body
    if not text:
        return
    if segments and segments[-1].style == style:
        segments[-1] = Segment(segments[-1].text + text, style)
    else:
        segments.append(Segment(text, style))


def spread(width: int, left: list[tuple[str, Style]], right: list[tuple[str, Style]]) -> list[Segment]:
    """Pieces from the left and pieces against the right edge; the left ones give way."""
    tail = sum(cell_len(text) for text, _ in right)
    segments: list[Segment] = []
    room = max(0, width - tail)
    for text, style in left:
        size = min(cell_len(text), room)
        push(segments, fit(text, size), style)
        room -= size
    push(segments, " " * room, (right or left or [("", Style.null())])[-1][1])
    for text, style in right:
        push(segments, fit(text, min(cell_len(text), width)), style)
    return segments


def changed_span(old: Strip | None, new: Strip, width: int) -> tuple[int, int] | None:
    """First cell and number of cells in which two lines differ; None where they are the same."""
    if old is None:
        return 0, width
    before, after = list(old), list(new)
    start = _same(before, after)
    if start == len(before) == len(after):
        return None
    left = sum(segment.cell_length for segment in after[:start]) + _same_start(before[start:], after[start:])
    before, after = before[start:][::-1], after[start:][::-1]
    end = _same(before, after)
    right = sum(segment.cell_length for segment in after[:end])
    return left, max(1, width - left - right)


def _same_start(before: list[Segment], after: list[Segment]) -> int:
    """Return how many cells at the beginning of the first segments are the same; only ASCII is looked into."""
    if not before or not after or before[0].style != after[0].style:
        return 0
    one, two = before[0].text, after[0].text
    if not (one.isascii() and two.isascii()):
        return 0
    return next((index for index, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def _same(one: list[Segment], two: list[Segment]) -> int:
    """Return how many leading segments are equal."""
    count = 0
    for a, b in zip(one, two, strict=False):
        if a != b:
            break
        count += 1
    return count


def wrap(text: str, width: int) -> list[str]:
    """`text` broken at blanks into lines of at most `width` cells; a word that is too long is cut across lines."""
    lines: list[str] = []
    for part in text.split("\n"):
        current = ""
        for word in part.split():
            for piece in _pieces(word, max(1, width)):
                joined = f"{current} {piece}" if current else piece
                if cell_len(joined) <= width:
                    current = joined
                    continue
                lines.append(current)
                current = piece
        lines.append(current)
    return lines


def _pieces(word: str, width: int) -> list[str]:
    if cell_len(word) <= width:
        return [word]
    pieces = []
    while word:
        size = width
        while size > 1 and cell_len(word[:size]) > width:
            size -= 1
        pieces.append(word[:size])
        word = word[size:]
    return pieces


_WHEEL = 3  # lines


class Pointed(Widget):
    """A widget that scrolls its own lines."""

    def scroll_lines(self, lines: int) -> None:
        """Move the window by some lines."""
        raise NotImplementedError

    def action_row(self, name: str) -> None:
        """Carry out one of the commands of the scope ROWS."""
        raise NotImplementedError

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_lines(_WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_lines(-_WHEEL)

    def on_click(self, event: events.Click) -> None:
        if event.chain == 2:
            self.action_row("open")


Build = Callable[[int, int], list[list[Segment]]]  # (width, height) -> lines, each exactly `width` cells


class Lines(Widget):
    """What `build` draws for the widget's size. Call `redraw` when it may look different."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Lines { height: 1; width: 1fr; padding: 0 1; }"

    def __init__(self, build: Build, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._build = build
        self._strips: list[Strip] | None = None
        self._look = NO_APPEARANCE  # in which they were built
        self.top = 0

    def redraw(self) -> None:
        """Build the lines again and repaint what differs."""
        width, height = self.size
        before = self._strips
        self._strips = None
        after = self.strips()
        for y in range(height):
            old = before[y + self.top] if before is not None and y + self.top < len(before) else None
            new = after[y + self.top] if y + self.top < len(after) else Strip.blank(width)
            span = changed_span(old or Strip.blank(width), new, width)
            if span is not None:
                self.refresh(Region(span[0], y, span[1], 1))

    def strips(self) -> list[Strip]:
        """Return all lines, built where they are not yet, or in another look."""
        look = appearance_of(self.app)
        if self._strips is None or look is not self._look:
            width, height = self.size
            self._look = look
            self._strips = [Strip(line, width) for line in self._build(width, height)] if width > 0 else []
            self.top = max(0, min(self.top, len(self._strips) - height))
        return self._strips

    def render_line(self, y: int) -> Strip:
        strips = self.strips()
        strip = strips[y + self.top] if y + self.top < len(strips) else Strip.blank(self.size.width)
        return strip.apply_style(self.rich_style)

    def on_resize(self) -> None:
        self._strips = None
        self.refresh()


class ClickedLines(Lines):
    """Lines that tell which of them was clicked."""

    class Clicked(Message):
        """Line `y` was clicked."""

        def __init__(self, y: int) -> None:
            super().__init__()
            self.y = y

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked(event.y))


class ScrolledLines(Pointed, Lines, can_focus=True):
    """Lines that take the focus and move under the keys of a list."""

    SCOPE = ROWS
    BINDINGS: ClassVar[list[BindingType]] = screen_bindings(ROWS)
    DEFAULT_CSS = "ScrolledLines { height: 1fr; width: 1fr; padding: 0 1; }"

    class Opened(Message):
        """Enter was pressed."""

    class Moved(Message):
        """Another part of the lines is in the window, or another number of them."""

    @property
    def below(self) -> int:
        """How many lines stand below the window."""
        return max(0, len(self.strips()) - self.top - self.size.height) if self.size.height else 0

    def more_words(self) -> str:
        """`12 more lines below`; empty where the end is in sight."""
        count = self.below
        return f"{count} more line{'' if count == 1 else 's'} below" if count else ""

    def on_resize(self) -> None:
        super().on_resize()
        self.post_message(self.Moved())

    def action_row(self, name: str) -> None:
        """Move the window; marks mean nothing here."""
        if name == "open":
            self.post_message(self.Opened())
        page = max(1, self.size.height - 1)
        steps = {
            "down": 1, "up": -1, "half_down": page // 2, "half_up": -(page // 2), "page_down": page,
            "page_up": -page, "top": -len(self.strips()), "bottom": len(self.strips()),
        }  # fmt: skip
        self.scroll_lines(steps.get(name, 0))

    def scroll_lines(self, lines: int) -> None:
        top = max(0, min(self.top + lines, len(self.strips()) - self.size.height))
        if top != self.top:
            self.top = top
            self.refresh()
            self.post_message(self.Moved())
