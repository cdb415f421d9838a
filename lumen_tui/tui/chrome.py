"""What is around the panes: where they stand for the size of the window, the lines above and below, the notice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from lumen_tui.model.agentstate import agent_status
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import humanize, one_line
from lumen_tui.tui import sizes
from lumen_tui.tui.band import MOST, NeedsBand
from lumen_tui.tui.commands import shown_key
from lumen_tui.tui.host import Host
from lumen_tui.tui.kit.header import Moving, header, moving_words
from lumen_tui.tui.kit.held import Held
from lumen_tui.tui.kit.lines import Lines, fit, spread
from lumen_tui.tui.panes.activity import something, strip
from lumen_tui.tui.panes.base import Pane, PanedRoom
from lumen_tui.tui.panes.units import UnitsStrip
from lumen_tui.tui.room_command import DECAY, DISCOVERIES, EVERYWHERE, LOOP, ROWS, SIGNALS, WAKE, WORKERS, RoomCommand
from lumen_tui.tui.room_commands import COMMANDS
from lumen_tui.tui.shares import EMPTY, LEAST, SteadyRows, Want, shares
from lumen_tui.tui.theme import Appearance

# What a narrow window can do without, the first one first. The pane's own commands and the help stay longest.
_DROPPED = (
    "zoom", "roles", "send_signal", "next_need", "mark", "open", "filter", "undo", "new_task", "palette", "why",
)  # fmt: skip


_QUOTED = lazy_re("“[^”]*”")
_TITLE = 12  # cells of a title in quotes that are always kept


class Notice(NamedTuple):
    """What the last action said; `until` in seconds since 1970."""

    text: str
    bad: bool = False
    until: float = 0.0


def footer_commands(scope: str, has_rows: bool) -> list[RoomCommand]:
    """Return what the footer offers while a pane has the focus, in its order."""
    scopes = {scope, EVERYWHERE, ROWS} if has_rows else {scope, EVERYWHERE}
    return [command for command in COMMANDS if command.footer and (command.scope in scopes or command.action == "open")]


def footer(
    commands: list[RoomCommand], keys: Mapping[str, str], notice: Notice | None, width: int, look: Appearance
) -> list[Segment]:
    """Return the footer on `width` cells: keys from the left, the notice against the right edge."""
    notice_text = f"  {squeezed(one_line(notice.text), max(8, width - 2))}" if notice and notice.text else ""
    right = [(notice_text, look.ink.bad if notice and notice.bad else look.ink.text)] if notice_text else []
    room = width - cell_len(notice_text)
    return spread(width, _keys(_fitting(commands, keys, room), keys, look), right)


def squeezed(text: str, width: int) -> str:
    """`text` on at most `width` cells: titles in quotes give way first, since what was done stands behind them."""
    for quoted in sorted(_QUOTED.findall(text), key=cell_len, reverse=True):
        over = cell_len(text) - width
        if over <= 0:
            return text
        title = quoted[1:-1].removesuffix("…")
        cells = max(_TITLE, cell_len(title) - over)
        if cells < cell_len(title):
            text = text.replace(quoted, f"“{fit(title, cells)}”", 1)
    return text if cell_len(text) <= width else fit(text, width)


def _fitting(commands: list[RoomCommand], keys: Mapping[str, str], room: int) -> list[RoomCommand]:
    fitting = list(commands)
    for action in _DROPPED:
        if sum(_size(command, keys) for command in fitting) <= room:
            return fitting
        fitting = [command for command in fitting if command.action != action]
    while fitting and sum(_size(command, keys) for command in fitting) > room:
        fitting.pop(-2 if len(fitting) > 1 else -1)
    return fitting


def _size(command: RoomCommand, keys: Mapping[str, str]) -> int:
    return len(shown_key(command, keys)) + 1 + len(command.label) + 2


def _keys(commands: list[RoomCommand], keys: Mapping[str, str], look: Appearance) -> list[tuple[str, Style]]:
    pieces: list[tuple[str, Style]] = []
    for command in commands:
        pieces.append((shown_key(command, keys), look.ink.loud))
        pieces.append((f" {command.label}  ", look.ink.muted))
    return pieces


_TWO_COLUMNS = Size(100, 30)  # below this the focused pane has the screen
_MORE = 80  # cells from which a zoomed pane has room for more columns
_DETAIL = 180  # cells from which the selected row has a column of its own
_LOW, _TALL = 36, 45  # lines
_LINES, _LINE = 16, 9  # lines from which the other panes have a line each, or one together
_TINY = Size(44, 12)
_WEIGHTS = {WORKERS: 5, SIGNALS: 3, DISCOVERIES: 5, LOOP: 3, WAKE: 3, DECAY: 2}


class RoomLayout(NamedTuple):
    """How the room is laid out now."""

    narrow: bool = False
    single: bool = False
    wide: bool = False
    low: bool = False
    tall: bool = False
    tiny: bool = False
    others: int = 0  # lines for the panes that are not seen
    more: bool = False  # whether the one pane shows more of each row, under headings
    side: bool = False  # whether the selected row is in full beside the one pane
    band: int = 0  # rows of the band at most
    strip: bool = False  # whether there is room for the strip of activity

    @property
    def detailed(self) -> bool:
        """Whether the selected row is shown in full."""
        return self.wide or self.side


def layout_for(size: Size, zoomed: bool, *, spoken: bool = False, whole: bool = False) -> RoomLayout:
    """Return the layout of a window. What is `spoken` has one column; so has a zoomed pane that is `whole`."""
    width, height = size
    narrow = spoken or width < _TWO_COLUMNS.width or height < _TWO_COLUMNS.height
    others = (5 if height >= _LINES else 1 if height >= _LINE else 0) if narrow and not zoomed else 0
    return RoomLayout(
        narrow=narrow,
        single=narrow or zoomed,
        wide=width >= _DETAIL and not narrow and not zoomed,
        more=zoomed and width >= _MORE,
        side=zoomed and width >= _TWO_COLUMNS.width and not (spoken or whole),
        low=height < _LOW and not narrow,
        tall=height >= _TALL,
        tiny=width < _TINY.width or height < _TINY.height,
        others=others,
        band=MOST if not narrow else 1 if height >= _LINES else 0,
        strip=not narrow and not zoomed,
    )


def arrange(screen: Screen[None], layout: RoomLayout, panes: Sequence[Pane], current: Pane) -> None:
    """Show and hide what the layout asks for. What is seen is set here, before the focus moves to it."""
    for name in ("narrow", "wide", "low", "tall", "tiny", "single", "side"):
        screen.set_class(getattr(layout, name), name)
    for pane in panes:
        _seen(pane, not layout.single or pane is current)
        pane.set_class(layout.single and pane is current, "alone")
        pane.zoom(layout.more and pane is current)
    for column in ("#left", "#right"):
        holder = screen.query_one(column)
        _seen(holder, not layout.single or current in holder.children)
    others = screen.query_one("#others")
    _seen(others, layout.others > 0)
    others.styles.height = max(1, layout.others)
    _seen(screen.query_one("#detail"), layout.detailed)


def share(wants: Sequence[Want], height: int, more: Mapping[str, int], layout: RoomLayout) -> Mapping[str, int]:
    """Return the lines of each pane of a column of `height`; none in a layout for one pane, which has all of them."""
    return {} if layout.single or height < len(wants) * LEAST else shares(wants, height, more)


def show_band(band: NeedsBand, layout: RoomLayout) -> None:
    """Show the band with as many rows as there are needs and the window has room for; else hide it."""
    rows = min(layout.band, band.lines_wanted)
    _seen(band, rows > 0)
    band.set_class(layout.narrow, "-bare")
    if rows and (lines := lines_of(band)) != band.lines_given:
        band.lines_given = lines
        band.styles.height = lines


def lines_of(band: NeedsBand) -> int:
    """Return the lines that the band takes now."""
    bare = band.has_class("-bare")
    return (min(1 if bare else MOST, band.lines_wanted) + (0 if bare else 2)) if band.display else 0


def show_strip(line: Widget, snapshot: Snapshot, now: float, layout: RoomLayout) -> int:
    """Show the strip where the window has room and there is something on it; return the lines that it takes."""
    _seen(line, layout.strip and something(snapshot, now))
    return int(line.display)


def _take(pane: Pane, lines: int | None) -> bool:
    """Give a pane its lines, with None those of the style sheet; return whether it had others."""
    pane.set_class(lines == EMPTY, "-empty")
    if lines == pane.lines_given:
        return False
    pane.lines_given = lines
    pane.styles.height = lines
    pane.recaption()
    return True


def _seen(widget: Widget, seen: bool) -> None:
    if widget.display is not seen:
        widget.display = seen


def pane_line(panes: Sequence[Pane], current: Pane, width: int, look: Appearance) -> list[Segment]:
    """Return all panes on one line, for a window too low for a line each."""
    ink = look.ink
    parts = [(f"{pane.number} {pane.name_shown}  ", ink.loud if pane is current else ink.muted) for pane in panes]
    return spread(width, parts, [])


AROUND = 2  # lines: the header and the footer


class Columns:
    """The lines of the band and of the panes in their two columns; the operator moves the borders."""

    def __init__(
        self, room: PanedRoom, screen: Screen[None], band: NeedsBand, units: UnitsStrip, host: Host, patience: float
    ) -> None:
        """`patience`: seconds for which a pane keeps lines that it does not need any more."""
        self._room, self._screen, self._band, self._units, self._host = room, screen, band, units, host
        self._needed = SteadyRows(patience)
        self.around = AROUND  # lines above and below all of them
        self._layout = RoomLayout()
        self._moved: dict[str, int] = {}
        self._root = ""  # of the state folder from which they were read

    def share(self, layout: RoomLayout) -> bool:
        """Give all of them the lines that their content asks for; return whether a pane has others than before."""
        self._layout, room, snapshot = layout, self._room, self._room.snapshot
        show_band(self._band, layout)
        taken = show_strip(self._screen.query_one("#strip"), snapshot, room.now, layout)
        if snapshot.loading < 1:
            return False  # more rows may come
        if snapshot.root != self._root:
            self._root, self._moved = snapshot.root, sizes.load(snapshot.root) if snapshot.root else {}
            self._needed.forget()
        loop, wake, workers, signals, discoveries, decay = room.panes
        height = self._screen.app.size.height - self.around - taken - lines_of(self._band)
        taken = 0 if layout.single else self._units.show(snapshot, low=layout.low)
        _seen(self._units, taken > 0)
        given = {
            **share(self._wants(wake, loop, decay), height - taken, self._moved, layout),
            **share(self._wants(workers, discoveries, signals), height, self._moved, layout),
        }
        changed = [_take(pane, given.get(pane.scope)) for pane in room.panes]
        return any(changed)

    def _wants(self, *panes: Pane) -> list[Want]:
        rows = [(pane.scope, pane.rows_wanted()) for pane in panes]
        return [Want(scope, self._needed.of(scope, count, self._room.now), _WEIGHTS[scope]) for scope, count in rows]

    def resize(self, by: int) -> None:
        """Give the current pane so many lines more of its column, and remember it."""
        pane, before = self._room.current, self._room.current.lines_given
        wanted = self._moved.get(pane.scope, 0)
        self._moved[pane.scope] = max(-sizes.MOST, min(sizes.MOST, wanted + by))
        self.share(self._layout)
        if pane.lines_given == before:
            self._moved[pane.scope] = wanted
            self._room.say("The other panes of this column need their lines.")
        elif not self._host.read_only:
            keep = asyncio.to_thread(sizes.save, self._root, dict(self._moved))
            self._room.run_worker(keep, group="sizes")


_MOVING = 10.0  # seconds between two looks at what was spent, and when the engine wakes
_SAID_FOR = 6.0  # seconds that a notice stays


class Chrome:
    """What the lines around the panes say. `notice` is the quiet word in the footer, which goes away by itself."""

    def __init__(self, room: PanedRoom, screen: Screen[None], host: Host) -> None:
        self._room = room
        self._screen = screen
        self._host = host
        self._asked: object = None
        self._footer: list[Segment] = []
        self._silence: Timer | None = None
        self.notice: Notice | None = None
        self._moving: Held[Moving] = Held(_MOVING)

    def header(self, width: int, _height: int) -> list[list[Segment]]:
        """Return the line above the panes."""
        room = self._room
        snapshot, now = room.snapshot, room.now
        return [header(snapshot, now, width, self._host.look, here=room.drives, moving=self._held_back())]

    def _held_back(self) -> Moving:
        """Return what was spent, and when the engine wakes, as of a moment ago."""
        snapshot, now = self._room.snapshot, self._room.now
        about = (snapshot.root, snapshot.spend.closed, agent_status(snapshot, now).state)
        return self._moving.of(about, now, lambda: moving_words(snapshot, now))

    def strip(self, width: int, _height: int) -> list[list[Segment]]:
        """Return the strip of activity."""
        snapshot = replace(self._room.snapshot, spend=self._held_back().spend)
        return [strip(snapshot, self._room.now, width, self._host.look)]

    def others(self, width: int, height: int) -> list[list[Segment]]:
        """Return the panes that are not seen, a line each or one together."""
        if height == 1:
            return [pane_line(self._room.panes, self._room.current, width, self._host.look)]
        return [pane.summary(width) for pane in self._room.panes if pane is not self._room.current]

    def footer(self, width: int, _height: int) -> list[list[Segment]]:
        """Return the keys that work now, none behind what is open over the room; and the notice."""
        room = self._room
        offered = room.offered() if self._screen.app.screen is self._screen else []
        asked = (offered, room.snapshot.config.keys, self.notice, width, self._host.look)
        if asked != self._asked:  # where a cursor moves it mostly stays as it is
            self._asked, self._footer = asked, footer(*asked)
        return [self._footer]

    def redraw(self) -> None:
        """Draw all of them again."""
        for name in ("#header", "#footer", "#others", "#strip"):
            self._screen.query_one(name, Lines).redraw()

    def redraw_footer(self) -> None:
        """Draw the footer again: what works changed, or the notice."""
        self._screen.query_one("#footer", Lines).redraw()

    def say(self, text: str, *, bad: bool = False, seconds: float = 0.0) -> None:
        """Show a notice, for some seconds (0: the usual ones); an empty one takes it away."""
        self.notice = Notice(humanize(text), bad) if text else None
        self.redraw_footer()
        if self._silence is not None:
            self._silence.stop()
        self._silence = self._screen.set_timer(seconds or _SAID_FOR, self._hush)

    def _hush(self) -> None:
        self.notice = None
        self.redraw_footer()
