"""The lines around the panes: what is true above them, the panes that a narrow window hides, and the keys below."""

from __future__ import annotations

from rich.segment import Segment
from textual.screen import Screen
from textual.timer import Timer

from lumen_tui.model.text import humanize
from lumen_tui.tui.host import Host
from lumen_tui.tui.kit.footer import Notice, footer, footer_commands
from lumen_tui.tui.kit.header import header
from lumen_tui.tui.kit.lines import Lines
from lumen_tui.tui.layout import pane_line
from lumen_tui.tui.panes.base import PanedRoom

_SAID_FOR = 6.0  # seconds that a notice stays


class Chrome:
    """What the room's three lines say. `notice` is the quiet word in the footer, which goes away by itself."""

    def __init__(self, room: PanedRoom, screen: Screen[None], host: Host) -> None:
        self._room = room
        self._screen = screen
        self._host = host
        self._asked: object = None
        self._footer: list[Segment] = []
        self._silence: Timer | None = None
        self.notice: Notice | None = None

    def header(self, width: int, _height: int) -> list[list[Segment]]:
        """The line above the panes."""
        host = self._host
        return [header(self._room.snapshot, host.clock(), width, host.look, here=host.drives)]

    def others(self, width: int, height: int) -> list[list[Segment]]:
        """The panes that are not seen, a line each or one together."""
        if height == 1:
            return [pane_line(self._room.panes, self._room.current, width, self._host.look)]
        return [pane.summary(width) for pane in self._room.panes if pane is not self._room.current]

    def footer(self, width: int, _height: int) -> list[list[Segment]]:
        """The keys that work now, and the notice."""
        room = self._room
        offered = footer_commands(room.current.scope, room.current.rows is not None)
        commands = [command for command in offered if not room.why_not(command)]
        asked = (commands, room.snapshot.config.keys, self.notice, width, self._host.look)
        if asked != self._asked:  # where a cursor moves it mostly stays as it is
            self._asked, self._footer = asked, footer(*asked)
        return [self._footer]

    def redraw(self) -> None:
        """All three."""
        for name in ("#header", "#footer", "#others"):
            self._screen.query_one(name, Lines).redraw()

    def redraw_footer(self) -> None:
        """What works changed, or the notice."""
        self._screen.query_one("#footer", Lines).redraw()

    def say(self, text: str, *, bad: bool = False, seconds: float = 0.0) -> None:
        """Another notice, for some seconds (0: the usual ones)."""
        self.notice = Notice(humanize(text), bad)
        self.redraw_footer()
        if self._silence is not None:
            self._silence.stop()
        self._silence = self._screen.set_timer(seconds or _SAID_FOR, self._hush)

    def _hush(self) -> None:
        self.notice = None
        self.redraw_footer()
