"""Sends frames to a terminal: of each the cells that changed, as fast as the line takes them, the newest first."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from threading import Event
from typing import Any, Protocol

from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._compositor import CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Offset

from lumen_tui.tui.patches.flow_control import FlowControl
from lumen_tui.tui.patches.frame_buffer import FrameBuffer, TerminalSkills

ANSWER, _ASK = "\x1b[0n", "\x1b[5n"  # DSR: are you well, I am
_LAST_ANSWER = 0.3  # seconds
# Where the header is blank: a line of a frame, REP, a line feed, and the question of where the cursor is; then it is
# blank again. Not every terminal knows REP, tmux 3.3 repeats ASCII alone, and some put a return to each line feed.
_TRY, _DRAWN, _REPEATED, _BELOW = "\x1b[1;7H─\x1b[b\n\x1b[6n\x1b[1;7H  ", 7, 8, 1


class Outlet(Protocol):
    """What a painter needs of the driver of a terminal."""

    @property
    def is_free(self) -> bool:
        """Whether all that was written has left."""

    def write(self, data: str) -> None:
        """Write, in a thread of its own."""

    def call(self, act: Callable[[], object], after: float = 0.0) -> None:
        """Do it in the event loop, so many seconds later. For any thread."""


class Painter:
    """Of one application. `told` hears when the line becomes slow, and when it is fast again."""

    def __init__(self, app: App[Any], told: Callable[[bool], None]) -> None:
        self._app, self._told = app, told
        self._outlet: Outlet | None = None  # none while the terminal is another program's
        self._frame, self._cursor = FrameBuffer(0, 0), Offset()
        self._skills = TerminalSkills()
        self._flow = FlowControl()
        self._held = False  # something is still to be sent
        self._answered = Event()

    def begin(self, outlet: Outlet) -> None:
        """Take the terminal, whatever it shows."""
        self._outlet = outlet
        self._frame.forget()
        self._flow.begin()
        outlet.write(_TRY)

    def lend(self) -> None:
        """Send no more. Who has the terminal next would read an answer that is on its way as keys."""
        self._outlet = None
        if self._flow.answers and self._flow.is_asking:
            self._answered.wait(_LAST_ANSWER)

    def show(self, update: CompositorUpdate, cursor: Offset) -> None:
        """Send what an update of the screen changes, and put the cursor where it is to be."""
        if self._frame.size != self._app.size:
            self._frame = FrameBuffer(*self._app.size)
            self._frame.skills = self._skills
            if not isinstance(update, LayoutUpdate):
                self._app.screen.refresh()  # a size came and went before it was laid out: Textual sends what changed
        self._frame.take(update, self._app.console)
        self._cursor = cursor
        self._send()

    def redraw(self) -> None:
        """Draw all of the terminal again, whatever it shows; one of a new size is drawn with its layout."""
        self._frame.forget()
        self._held = True
        self._app.call_after_refresh(self.go_on)

    def go_on(self) -> None:
        """Send what is still to be sent."""
        if self._held and self._frame.size == self._app.size:
            self._send()
        elif self._held and self._app.screen_stack:
            self._app.screen.refresh()

    def out(self) -> None:
        """All that was written has left. In the thread that writes."""
        if self._held and (outlet := self._outlet) is not None:
            outlet.call(self.go_on)

    def _send(self) -> None:
        """Send as much of the newest frame as the line takes now; the rest, or one that is newer then, goes later."""
        self._held = True
        if (outlet := self._outlet) is None or not outlet.is_free:
            return
        now = time.monotonic()
        if not (most := self._flow.most(now)):
            outlet.call(self.go_on, self._flow.patience)
            return
        if changes := self._frame.changes(most, self._cursor):
            ask = self._asking(self._flow.sent(len(changes.encode()), now))
            synced = self._app._sync_available
            outlet.write("".join([SYNC_START * synced, changes, ask, SYNC_END * synced]))
        self._held = not self._frame.is_shown

    def _asking(self, wanted: bool) -> str:
        if not wanted:
            return ""
        self._answered.clear()
        return _ASK

    def take_answer(self) -> None:
        """The terminal has shown what was sent before it was asked. In the thread that reads."""
        self._answered.set()
        if (outlet := self._outlet) is not None:
            outlet.call(partial(self._learn, time.monotonic()))  # that the room is busy says nothing of the line

    def take_cursor(self, place: Offset) -> None:
        """Learn from where the cursor is what the terminal does."""
        straight = place.y == _BELOW and place.x in (_DRAWN, _REPEATED)
        self._skills = self._frame.skills = TerminalSkills(place.x == _REPEATED, straight)

    def _learn(self, arrived: float) -> None:
        was_slow = self._flow.slow
        ask = self._asking(self._flow.answered(arrived, time.monotonic()))
        if ask and self._outlet is not None:
            self._outlet.write(ask)
        if self._flow.slow != was_slow:
            self._told(self._flow.slow)
        self.go_on()
