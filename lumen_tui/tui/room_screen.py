"""What the room of now and that of the past share: six panes, a line of truth above them, a line of keys below."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import Screen

from lumen_tui.model.snapshot import Attention, Snapshot
from lumen_tui.tui.band import NeedsBand
from lumen_tui.tui.chrome import Chrome, Columns, RoomLayout, arrange, layout_for
from lumen_tui.tui.commands import BY_ACTION
from lumen_tui.tui.handlers.table import RoomHandlers
from lumen_tui.tui.host import Host
from lumen_tui.tui.kit.keys import bindings
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import ClickedLines, Lines, ScrolledLines
from lumen_tui.tui.kit.query import FilterBar, FilterLine
from lumen_tui.tui.panes.base import NOTHING, DetailColumn, Pane
from lumen_tui.tui.panes.decay import DecayPane
from lumen_tui.tui.panes.discoveries import DiscoveriesPane
from lumen_tui.tui.panes.loop import LoopPane
from lumen_tui.tui.panes.signals import SignalsPane
from lumen_tui.tui.panes.units import UnitsStrip
from lumen_tui.tui.panes.wake import WakePane
from lumen_tui.tui.panes.workers import WorkersPane
from lumen_tui.tui.patches.one_frame import OneFrame, paint_once
from lumen_tui.tui.room_command import EVERYWHERE, RoomCommand


class Outlook:
    """What the room of now and that of the past answer each in its own way."""

    def begin(self) -> None:
        """Take what is to be shown, from now on."""
        raise NotImplementedError

    @property
    def now(self) -> float:
        """The moment that is shown, in seconds since 1970."""
        raise NotImplementedError

    @property
    def refusal(self) -> str:
        """Why nothing can be written from here; the empty string where it can."""
        raise NotImplementedError

    @property
    def drives(self) -> bool:
        """Whether the engine that drives was started here."""
        return False

    def offered(self) -> list[RoomCommand]:
        """Return what the footer offers."""
        raise NotImplementedError

    def open_row(self) -> None:
        """Open the selected row, or what a pane without rows shows, in full."""
        raise NotImplementedError

    def open_need(self, need: Attention | None) -> None:
        """Go to where a need is answered."""
        raise NotImplementedError


class RoomScreen(Outlook, OneFrame, Screen[None], inherit_bindings=False):
    """Facts come down through `show`. What a key does is for those that are made of it to say."""

    PATIENCE: ClassVar[float] = 0.0  # seconds for which a pane keeps lines that it does not need any more
    AUTO_FOCUS = ""  # the room itself gives the focus, once it is laid out
    BINDINGS: ClassVar[list[BindingType]] = bindings(EVERYWHERE, "do")

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host
        self.snapshot: Snapshot = NOTHING
        self.panes: tuple[Pane, ...] = (
            LoopPane(), WakePane(), WorkersPane(), SignalsPane(), DiscoveriesPane(), DecayPane(),
        )  # fmt: skip
        self.current: Pane = self.panes[2]
        self.zoomed = False
        self.arranged = RoomLayout()
        self.around = Chrome(self, self, host)
        self.detail = DetailColumn()
        self.handlers = RoomHandlers(self, host)
        needs = self.handlers.needs
        self.band = NeedsBand(self, needs.needs_host, needs.why_stays, self.open_need, self.around.redraw_footer)
        self.units = UnitsStrip()
        self.columns = Columns(self, self, self.band, self.units, host, self.PATIENCE)

    def compose(self) -> ComposeResult:
        loop, wake, workers, signals, discoveries, decay = self.panes
        yield Lines(self.around.header, id="header")
        yield Lines(self.around.strip, id="strip")
        others, spoken = ClickedLines(self.around.others, id="others"), self._host.look.spoken
        if not spoken:
            yield others
        yield self.band
        with Vertical(id="columns"):
            with Vertical(id="left"):
                yield from (loop, wake, decay)
                yield self.units
            with Vertical(id="right"):
                yield from (workers, signals, discoveries)
            yield self.detail
        if spoken:
            yield others  # read after the list in front
        yield FilterLine()
        yield Lines(self.around.footer, id="footer")

    def on_mount(self) -> None:
        """All that the first paint shows is there before it: an empty one, and one without a focus, are saved."""
        self._arrange(self.app.size)
        self._keep_focus()
        self.begin()

    def on_screen_suspend(self) -> None:
        self.around.redraw_footer()

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        super().on_screen_resume(event)
        self.around.redraw_footer()

    def on_resize(self, event: events.Resize) -> None:
        self._arrange(self.app.size)
        self.call_after_refresh(self._keep_focus)

    def _arrange(self, size: Size) -> None:
        self.arranged = layout_for(size, self.zoomed, spoken=self._host.look.spoken, whole=self.current.whole)
        arrange(self, self.arranged, self.panes, self.current)
        self.columns.share(self.arranged)

    def _keep_focus(self) -> None:
        """Give the focus back to a pane that was hidden for a moment by another layout."""
        if self.focused is None or (self.band.in_front and not self.band.display):
            self.set_focus(self.current.target)

    # Facts down.

    def show(self, snapshot: Snapshot, now: float) -> None:
        """Render a newer snapshot."""
        self.snapshot = snapshot
        for pane in self.panes:
            pane.show(snapshot, now)
        answering = self.band.in_front
        self.band.show(snapshot, now)
        if self.columns.share(self.arranged):
            paint_once(self)
        if answering and not self.band.display:
            self.set_focus(self.current.target)
        self._lines_again()

    def _lines_again(self) -> None:
        self.around.redraw()
        if self.arranged.detailed:
            self.detail.show(self.current.detail())

    def say(self, text: str, bad: bool = False, seconds: float = 0.0) -> None:
        """Words about what was just done, in the footer for so many seconds, or the usual ones."""
        self.around.say(text, bad=bad, seconds=seconds)

    # Requests up.

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""
        return self.handlers.why_not(command)

    def action_do(self, action: str) -> None:
        """Carry out a command, or say why it cannot be done now."""
        command = BY_ACTION[action]
        why = self.why_not(command)
        if why:
            self.say(f"{command.label}: {why}")
        else:
            self.handlers.run(command)

    def pane(self, scope: str) -> Pane:
        """Return the pane of a scope."""
        return next(pane for pane in self.panes if pane.scope == scope)

    def toggle_zoom(self) -> None:
        """Give the current pane the whole screen, or its place among the others back."""
        self.zoomed = not self.zoomed
        self._arrange(self.size)
        self._lines_again()

    def open_filter(self) -> None:
        """Put the filter's line in the place of the footer."""
        rows = self.current.rows
        if rows is not None:
            self.query_one("#footer").display = False
            bar = self.query_one(FilterBar)
            bar.placeholder = self.current.filter_hint
            bar.open(rows.filter_text)

    def go_to(self, pane: Pane) -> None:
        """Give a pane the focus."""
        self.current = pane
        self._arrange(self.size)
        self.set_focus(pane.target)
        self._lines_again()

    @on(events.DescendantFocus)
    def focus_moved(self, event: events.DescendantFocus) -> None:
        """Follow the focus, which a click or a key gave to another pane."""
        pane = next((pane for pane in self.panes if pane in event.widget.ancestors), None)
        if pane is not None and pane is not self.current:
            self.current = pane
            self._arrange(self.size)
        self._lines_again()

    @on(LineList.Selected)
    @on(ScrolledLines.Opened)
    def opened(self) -> None:
        """Enter or a double click, on a row or in a pane without rows."""
        self.open_row()

    @on(Pane.Updated)
    def changed(self, event: Pane.Updated) -> None:
        """Follow a cursor that moved."""
        event.stop()
        if event.pane is self.current:
            self.around.redraw_footer()  # what works depends on the row
        if self.arranged.detailed and event.pane is self.current:
            self.detail.show(self.current.detail())

    @on(ClickedLines.Clicked)
    def picked(self, event: ClickedLines.Clicked) -> None:
        """Go to the pane whose line in a narrow window was clicked."""
        others = [pane for pane in self.panes if pane is not self.current]
        if event.y < len(others):
            self.go_to(others[event.y])

    @on(FilterBar.Typed)
    def filter_typed(self, event: FilterBar.Typed) -> None:
        """Narrow the list while the filter is typed."""
        if self.current.rows is not None:
            self.current.rows.set_filter(event.text)

    @on(FilterBar.Closed)
    def filter_closed(self, event: FilterBar.Closed) -> None:
        """Go back to the list."""
        self.query_one("#footer").display = True
        if not event.keep and self.current.rows is not None:
            self.current.rows.set_filter("")
        self.go_to(self.current)
