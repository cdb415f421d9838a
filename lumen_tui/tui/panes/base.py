"""What the six panes share (a frame with a title, a slice of the snapshot, a summary), and the selected row in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget

from lumen_tui.model.snapshot import Attention, Revisions, Snapshot
from lumen_tui.model.text import humanize, one_line, safe
from lumen_tui.tui.commands import BY_ACTION, shown_key
from lumen_tui.tui.host import RoomView, appearance_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Lines, ScrolledLines, edge_title, spread, wrap
from lumen_tui.tui.panes.sorting import Sorting
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.shares import EMPTY
from lumen_tui.tui.theme import Appearance

R = TypeVar("R")

_AGES = 0.5  # seconds: ages that rows show count in whole ones, and snapshots may come a hundred times as often
NOTHING = Snapshot(root="", taken=0.0, loading=0.0)


class Drawing(Protocol):
    """Something drawn below the facts of a detail. Equal drawings look the same."""

    def lines(self, width: int, look: Appearance) -> list[list[Segment]]:
        """Return lines of exactly `width` cells."""


class Detail(NamedTuple):
    """The selected row in full, for the wide layout. Facts without a value are left out."""

    title: str
    facts: tuple[tuple[str, str], ...]
    body: str
    drawing: Drawing | None = None
    composed: bool = False  # the body was put together by the program: see `humanize`


class PaneFrame(Vertical):
    """The frame of a pane, and what it says in few words."""

    scope: ClassVar[str] = ""
    number: ClassVar[int] = 0
    name_shown: ClassVar[str] = ""
    nothing_now: ClassVar[str] = ""  # what it says while it is empty, where no key in force is named in it
    nothing_then = ""  # of a moment in the past: what it says while it is empty

    def __init__(self) -> None:
        super().__init__(id=self.scope, classes="pane")
        self.snapshot = NOTHING
        self.lines_given: int | None = None  # of its column, while it shares one
        self._captions = {"title": "", "subtitle": ""}

    @property
    def look(self) -> Appearance:
        """Colours and shapes to draw with."""
        return appearance_of(self.app)

    def empty_words(self) -> str:
        """Return what an empty pane says: what fills it, and the keys in force that do."""
        return self.nothing_now

    def nothing_shown(self) -> str:
        """Return what it says while it is empty: now, or at a moment in the past."""
        return self.nothing_then or self.empty_words()

    def key(self, action: str) -> str:
        """Return the key that carries a command out, as the operator has it."""
        return shown_key(BY_ACTION[action], self.snapshot.config.keys)

    def recaption(self) -> None:
        """Write into the frame what it says now."""
        self.caption(self._title(), self.subtitle_words())

    def _title(self) -> str:
        """Return the upper border's words; of a pane of one line all that it says."""
        if self.lines_given != EMPTY:
            return self.title_words()
        return f"{self.number} {self.name_shown} · {'nothing recorded' if self.nothing_then else self.empty_line()}"

    def empty_line(self) -> str:
        """Return what an empty pane says on its one line."""
        return self.short()[0]

    def title_words(self) -> str:
        """Return what stands in the upper border."""
        return f"{self.number} {self.name_shown}"

    def subtitle_words(self) -> str:
        """Return what stands in the lower border."""
        return ""

    def short(self) -> tuple[str, bool]:
        """Return the pane in a few words, and whether something in it wants a person: for narrow windows."""
        return self.subtitle_words(), False

    def summary(self, width: int) -> list[Segment]:
        """Return one line for the whole pane."""
        ink = self.look.ink
        words, loud = self.short()
        left = [(f"{self.number} ", ink.muted), (f"{self.name_shown:<12}", ink.text)]
        return spread(width, [*left, (words, ink.accent if loud else ink.muted)], [])

    @on(ScrolledLines.Moved)
    def scrolled(self, event: ScrolledLines.Moved) -> None:
        """Show what is below the part of the text that is in the window."""
        event.stop()
        self.recaption()

    def caption(self, title: str, subtitle: str) -> None:
        """Write into the frame, and repaint only that part of it."""
        width, height = self.content_size
        if (title := one_line(title)) != (was := self._captions["title"]):
            self._captions["title"] = title
            self._border_title = edge_title(title) if self.lines_given == EMPTY else Content(title)
            start, stop = _differs(was, title, width)
            self.refresh(Region(start + 2, -1, stop - start, 1))
        if (subtitle := one_line(subtitle)) != (was := self._captions["subtitle"]):
            self._captions["subtitle"], self._border_subtitle = subtitle, Content(subtitle)
            start, stop = _differs(was[::-1], subtitle[::-1], width)
            self.refresh(Region(width - 2 - stop, height, stop - start, 1))


class Heads(Lines):
    """The headings of a pane's columns, seen while it is zoomed."""

    def __init__(self, pane: Pane) -> None:
        super().__init__(lambda width, _height: [pane.heads(width)], classes="heads")
        self.display = False


class Pane(PaneFrame):
    """A framed part of the room. It renders what `show` gives it and asks for nothing."""

    filter_hint: ClassVar[str] = "filter: words, !without, field:value"  # what stands in the empty filter line

    class Updated(Message):
        """The selected row or the pane's summary may have changed."""

        def __init__(self, pane: Pane) -> None:
            super().__init__()
            self.pane = pane

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self._revision: object = None
        self._aged = 0.0  # when the rows were last drawn for their ages alone

    @property
    def target(self) -> Widget:
        """The widget inside that takes the focus."""
        return next(child for child in self.children if child.can_focus)

    @property
    def rows(self) -> LineList[Any] | None:
        """The list inside, where there is one."""
        return next((child for child in self.children if isinstance(child, LineList)), None)

    whole: ClassVar[bool] = False  # whether, zoomed, it says all that there is
    sorting: Sorting[Any] | None = None
    zoomed = False  # whether it has the screen, with headings and more columns

    def zoom(self, zoomed: bool) -> None:
        """Show more of each row, with headings; or as among the other panes."""
        if zoomed == self.zoomed:
            return
        self.zoomed = zoomed
        for line in self.query(Heads):
            line.display = zoomed
        if self.rows is not None:
            self.rows.refresh_changed()

    def heads(self, width: int) -> list[Segment]:
        """Return the headings of the columns, above the list while it is zoomed."""
        return [Segment(" " * width)]

    def sort(self) -> str:
        """Go to the next order of the list, and return its name."""
        if self.sorting is None:
            return ""
        name = self.sorting.next()
        self.fill()
        self.recaption()
        return name

    def rows_wanted(self) -> int:
        """Return how many rows it has to show; 0 where one line says all."""
        return len(self.rows.model.rows) if self.rows is not None else 0

    def revision(self, revisions: Revisions) -> object:
        """Return the counters this pane depends on."""
        raise NotImplementedError

    def show(self, snapshot: Snapshot, now: float) -> None:
        """Render a newer snapshot; nothing is done where this pane's slice is the same."""
        self.now = now
        revision = (self.revision(snapshot.revisions), snapshot.root, snapshot.operators.claims)
        self.snapshot = snapshot
        if revision == self._revision:
            self.tick(now)
            return
        self._revision, self._aged = revision, 0.0
        self.fill()
        self.tick(now)

    def fill(self) -> None:
        """Take the new slice from `self.snapshot`."""

    def tick(self, now: float) -> None:
        """Bring ages up to date."""
        self.now = now
        if self.rows is not None and abs(now - self._aged) >= _AGES:
            self._aged = now
            self.rows.refresh_changed()
        self.recaption()

    def tell(self, event: Message | None = None) -> None:
        """Tell the room, in place of `event`, that something changed: at once, for every widget on the way costs."""
        if event is not None:
            event.stop()
        self.screen.post_message(self.Updated(self))

    def detail(self) -> Detail | None:
        """Return the selected row in full."""
        return None


class ColumnsView(Protocol):
    """The lines of the panes, as handlers change them."""

    def resize(self, by: int) -> None:
        """Give the current pane so many lines more of its column, and remember it."""


class BandView(Protocol):
    """The band above the panes, as handlers and the lines around the panes see it."""

    SCOPE: str  # of its keys
    display: bool

    @property
    def in_front(self) -> bool:
        """Whether keys are about it."""

    @property
    def rows(self) -> LineList[Attention]:
        """The list."""

    def step(self, by: int) -> Attention | None:
        """Take the focus, and go to the next or the previous row; return it, None where there is none."""

    def offered(self) -> list[RoomCommand]:
        """Return the commands that the footer offers for the selected row."""

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""

    def carry_out(self, command: RoomCommand) -> None:
        """Do what a key of the band does."""


class PanedRoom(RoomView, Protocol):
    """The room with its six panes, as handlers and the lines around the panes see it."""

    current: Pane  # the one with the focus
    zoomed: bool

    @property
    def panes(self) -> tuple[Pane, ...]:
        """All six, by their numbers."""

    @property
    def band(self) -> BandView:
        """What needs a person, above the panes."""

    @property
    def columns(self) -> ColumnsView:
        """The lines of the panes."""

    @property
    def now(self) -> float:
        """The moment that is shown, in seconds since 1970."""

    @property
    def drives(self) -> bool:
        """Whether the engine that drives was started here."""

    def offered(self) -> list[RoomCommand]:
        """Return what the footer offers: what works on the row of the band, or on the current pane."""

    def pane(self, scope: str) -> Pane:
        """Return the pane of a scope."""

    def go_to(self, pane: Pane) -> None:
        """Give a pane the focus."""

    def toggle_zoom(self) -> None:
        """Give the current pane the whole screen, or its place among the others back."""

    def open_filter(self) -> None:
        """Put the filter's line in the place of the footer."""


def _differs(was: str, now: str, width: int) -> tuple[int, int]:
    """Return what to paint where a caption changes: cells from its start; the blanks around it are -1 and its length.

    Only what differs where both are as long and fit into a frame around `width` cells.
    """
    longest = max(cell_len(was), cell_len(now))
    if longest != len(was) or longest != len(now) or longest > width - 4:
        return -2, min(longest + 1, width - 1)
    places = [place for place in range(longest) if was[place] != now[place]]
    return places[0], places[-1] + 1


def sorted_by(pane: Pane) -> str:
    """`by cost`; empty for the list's own order."""
    return f"by {pane.sorting.name}" if pane.sorting is not None and pane.sorting.name else ""


def in_order(pane: Pane, rows: Sequence[R]) -> Sequence[R]:
    """Return the rows in the order in which a pane is to show them."""
    return pane.sorting.apply(rows) if pane.sorting is not None else rows


def place_of(rows: LineList[Any], what: str) -> str:
    """`3 of 7 open`, `2 marked · 3 of 7 open`, with the filter where there is one."""
    count = len(rows.model)
    if not count and not rows.filter_text:
        return ""
    parts = [f"{len(rows.marks.keys)} marked"] if rows.marks.keys else []
    where = f"{rows.model.cursor + 1} of {count}" if count else "none"
    if rows.filter_text:
        parts += [f"{where} found", f"{len(rows.model.rows)} {what}", f"/{rows.filter_text}"]
    else:
        parts.append(f"{where} {what}")
    if rows.sifter.share < 1:
        parts.append(f"{int(rows.sifter.share * 100)} % searched")
    return " · ".join(parts)


_LIMIT = 20_000  # characters that are laid out
_NOTHING = "The selected row appears here in full."


class DetailColumn(PaneFrame):
    """Shows whatever it is given."""

    scope = "detail"

    def __init__(self) -> None:
        super().__init__()
        self._lines = Lines(self._build, id="detail-lines")
        self._detail: Detail | None = None

    def compose(self) -> ComposeResult:
        yield self._lines

    def show(self, detail: Detail | None) -> None:
        """Show a row, or the hint that there is none."""
        if detail == self._detail:
            return
        self._detail = detail
        self.caption(one_line(humanize(detail.title), 60) if detail else "", "")
        self._lines.top = 0
        self._lines.redraw()

    def _build(self, width: int, height: int) -> list[list[Segment]]:
        look = appearance_of(self.app)
        ink, detail = look.ink, self._detail
        if detail is None:
            return [spread(width, [(text, ink.muted)], []) for text in wrap(_NOTHING, width)]
        lines = [
            spread(width, [(f"{name:<11}", ink.muted), (one_line(humanize(value)), ink.text)], [])
            for name, value in detail.facts
            if value
        ]
        blank = spread(width, [("", ink.text)], [])
        lines += [blank] if lines else []
        lines += [*detail.drawing.lines(width, look), blank] if detail.drawing else []
        text = detail.body[:_LIMIT]
        mark = f"{look.shapes.quotes} "
        body = wrap(safe(humanize(text) if detail.composed else text).strip(), width - len(mark))
        return lines + [spread(width, [(mark, ink.accent), (text, ink.text)], []) for text in body]


def subject_of(room: PanedRoom) -> str:
    """Return the id that the selected row is about, in the band or in the current pane; empty where there is none."""
    if room.band.in_front and (need := room.band.rows.selected) is not None:
        return need.target
    rows = room.current.rows
    return rows.view.key(rows.selected) if rows is not None and rows.selected is not None else ""
