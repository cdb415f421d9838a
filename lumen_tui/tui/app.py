"""The application around the room: theme, signals of the system, the bridge to the port, one timer."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text
from textual import events
from textual._compositor import CompositorUpdate
from textual.app import App
from textual.dom import DOMNode
from textual.filter import NoColor
from textual.screen import Screen

from lumen_tui.actions.outcome import Done
from lumen_tui.crashes import crash_words
from lumen_tui.engine.port import Port
from lumen_tui.model.liveness import EngineLife
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import Redo, Undo
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.themes import LUMEN, PLAIN
from lumen_tui.storage import integrity
from lumen_tui.tui import first_paint, theme
from lumen_tui.tui.bell import TerminalMouth
from lumen_tui.tui.bridge import ActionRefusal, Bridge
from lumen_tui.tui.command_log import CommandLog
from lumen_tui.tui.host import Host, RoomView, VerdictAsker, nothing, say_on
from lumen_tui.tui.kit.keys import key_of, keys_of
from lumen_tui.tui.kit.line_list import moved_by
from lumen_tui.tui.kit.verdict import VerdictKeys
from lumen_tui.tui.moved_keys import keymap, slip_in
from lumen_tui.tui.panes.base import subject_of
from lumen_tui.tui.patches import changed_lines, one_frame, quick_calls, quick_styles
from lumen_tui.tui.patches.painter import Painter
from lumen_tui.tui.patches.terminal import NO_CELLS, AsciiTwins, Guard, Terminal
from lumen_tui.tui.patches.type_ahead import TypeAhead
from lumen_tui.tui.patches.way_out import ENDING, way_out
from lumen_tui.tui.presence import Presence
from lumen_tui.tui.room import Room
from lumen_tui.tui.room_screen import RoomScreen
from lumen_tui.tui.spoken import Announcer, spoken_place

if TYPE_CHECKING:
    from lumen_tui.tui.kit.screen import Dialog

_SOON = 0.05  # seconds
_ANNOUNCED = 60.0  # seconds that a line stays which says what is new
_SLOW = 1.0  # seconds after which whoever types is told that keys wait
_PATIENCE = 0.1  # seconds that the first paint waits for the first snapshot
_AFTER_LENT = 1.0  # seconds in which a ctrl+c that was meant for another program may still arrive


def _hold_keys(app: LumenApp) -> Callable[[], None]:
    """Let keys wait until what this returns is called, and say so where that takes long."""
    release = app.hold(lambda key: key in keys_of(app, "back"))
    words = f"Keys wait until this is saved; {key_of(app, 'back')} drops them."
    notice = app.set_timer(_SLOW, lambda: say_on(app, app.screen, words))

    def end() -> None:
        notice.stop()
        release()

    return end


def _front(app: LumenApp) -> RoomScreen:
    """Return the room in front: the main screen, or the past over it."""
    return next((screen for screen in reversed(app.screen_stack) if isinstance(screen, RoomScreen)), app.room)


def _open_past(app: LumenApp) -> None:
    """Open the room as it was after what happened last."""
    from lumen_tui.tui.past_room import PastRoom

    app.push_screen(PastRoom(app, Path(app.room.snapshot.root)))


def _patch_textual() -> None:
    for patch in (changed_lines, quick_calls, quick_styles):
        patch.install()
    one_frame.forget_closed_screens()


class LumenApp(TypeAhead, one_frame.LateToasts, App[int], inherit_bindings=False):
    """The room on a terminal. Exits with 0, or with 128 + the number of the signal that ended it."""

    CSS_PATH = theme.style_files()
    ENABLE_COMMAND_PALETTE = False
    TITLE = "lumen"
    finish: Callable[[float], int]  # waits so many seconds for what was asked for; how many actions are not done
    _configured: object = None  # the keys and the theme in force
    front: Callable[[], RoomView]  # the room in front: the main screen, or the past over it
    open_past: Callable[[], None]

    def __init__(
        self,
        port: Port,
        *,
        operator: str,
        lean: bool = False,
        accessible: bool = False,
        read_only: bool = False,
        engine: subprocess.Popen[bytes] | None = None,
        clock: Callable[[], float] = time.time,
        all_read: Callable[[], None] = lambda: None,
    ) -> None:
        """`all_read` is called once, when the first whole snapshot is on the screen."""
        lean = lean or accessible
        self.accessible = accessible
        self._asked_for = (lean, lean or theme.without_colour())
        self.lean, self.mono = self._asked_for
        self.look = theme.NO_APPEARANCE
        _patch_textual()
        super().__init__(driver_class=Terminal, ansi_color=True if self.mono else None)
        self.host: Host = self  # as `host_of` finds it
        self.port = port
        self.operator = operator
        self.read_only = read_only
        self.engine = engine  # the one that this room started
        self.clock = clock
        self._all_read = all_read
        self.command_log = CommandLog()
        self.front, self.open_past = partial(_front, self), partial(_open_past, self)
        self.room = Room(self)
        self.presence = Presence(self, lambda: subject_of(self.room))
        self.mouth = TerminalMouth(self, self, os.environ)
        self._verdict_keys = VerdictKeys(self)
        self.verdicts: VerdictAsker = self._verdict_keys
        self._disable_tooltips = True  # there are none
        self.painter = Painter(self, self._take_line)
        self.announcer = Announcer()
        self.finish = lambda _: 0
        self.animation_level = "none"
        self._plain = (AsciiTwins(enabled=lean), NoColor(enabled=lean))
        self._filters += [*self._plain, Guard()]
        self._bridge: Bridge | None = None
        self._lent_until = 0.0  # monotonic: before this the terminal is, or was just now, an editor's
        theme.offer(self, ())
        self.choose_theme(LUMEN)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.variable_defaults()

    def get_default_screen(self) -> Screen[None]:
        """Return the room itself: an empty screen of Textual's below it would be laid out and painted for nothing."""
        return self.room

    def refresh_css(self, animate: bool = True) -> None:
        """As Textual has it; before the first screen the colours are enough, and the style sheets are parsed once."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in ENDING:
            loop.add_signal_handler(number, self.end_by, number)
        way_out.hear()
        self._bridge = Bridge(self.port, loop, self.show, self._tell)
        self._bridge.start()
        self.finish = self._bridge.finish

    def await_snapshot(self) -> None:
        """Give the first snapshot a moment: a room that opens with its content is laid out and painted once."""
        if self._bridge is not None:
            self._bridge.await_snapshot(_PATIENCE)
            self.call_after_refresh(self._bridge.painted)  # also where none came

    def on_unmount(self) -> None:
        if self._bridge is not None:
            self._bridge.stop()

    async def on_event(self, event: events.Event) -> None:
        """As Textual has it; whoever types or points is there."""
        if isinstance(event, events.InputEvent):
            self.presence.looked()
        if isinstance(event, events.Resize):
            self.painter.redraw()
        await super().on_event(event)

    def _take_line(self, slow: bool) -> None:
        """Draw plainly while the line to the terminal is slow, whatever was asked for."""
        self.lean, self.mono = (True, True) if slow else self._asked_for
        for plain in self._plain:
            plain.enabled = self.lean
        self.choose_theme(self.room.snapshot.config.room.theme)
        self.refresh_css(animate=False)
        self.room.band.tick(self.clock())  # its title has a sign
        self.room.say("slow line: drawing plainly" if slow else "the line is fast again")

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        """As Textual has it; a key that says more of the verdict before it means nothing else.

        One that moves in a list moves at once: through the queue of each widget around the list it takes 1 ms longer.
        """
        if not priority:
            return await super()._check_bindings(key)
        if self._verdict_keys.takes(key) or (_may_come_first(self, key) and await super()._check_bindings(key, True)):
            return True
        focused, screen = self.focused, self.screen
        if focused is None or self.room.handlers.is_own(key) or not moved_by(key, focused):
            return False
        self.carried_out()
        if isinstance(screen, one_frame.OneFrame) and not self._waiting:
            screen.paint_now(focused)
        return True

    def exit(self, result: int | None = None, return_code: int = 0, message: Any = None) -> None:
        """Leave, and keep the screen for the first paint of the next room."""
        self._verdict_keys.settle()
        self._keep_screen()
        self.presence.leave()
        super().exit(result, return_code, message)

    def _handle_exception(self, error: Exception) -> None:
        """As Textual has it, but told without the values of variables, and made safe.

        Where an upgrade took the files away, one sentence tells more.
        """
        self._return_code = 1
        if why := integrity.program_replaced():
            self.panic(f"lumen-tui: {why}")
            return
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self.panic(Text(crash_words(error)))

    def _keep_screen(self) -> None:
        """Leave the room's last screen for the first paint of the next one."""
        if self.read_only or self.is_headless or not self.room.snapshot.root or self.room.snapshot.loading < 1:
            return
        lines = [strip.text.rstrip() for strip in self.room._compositor.render_strips()]
        first_paint.save(
            self.room.snapshot.root, (self.size.width, self.size.height), lines, self.clock(), lean=self.lean
        )

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer snapshot, unless the room is being taken apart."""
        if self._exit or not self.is_running:
            return
        first = self.room.snapshot.loading < 1 <= snapshot.loading
        configured = (snapshot.config.keys, snapshot.config.room.theme, snapshot.themes)
        if configured != self._configured:
            self._configured = configured
            _take_settings(self, snapshot)
        self.room.show(snapshot, self.clock())
        for screen in self._above():
            screen.show(snapshot)
            screen.tick(self.clock())
        self.mouth.name_terminal(snapshot)
        if snapshot.loading >= 1:
            self.presence.begin(snapshot.root)
            self.presence.hear(snapshot)
            self.mouth.hear(snapshot)
            if self.accessible and (news := self.announcer.news(snapshot)):
                self.room.say(news, seconds=_ANNOUNCED)
        if first:
            self._all_read()
        if self._bridge is not None:
            self.call_after_refresh(self._bridge.painted)

    def open_lineage(self, name: str) -> None:
        """Open what caused the thing with this id, and what came of it."""
        from lumen_tui.tui.screens.lineage import WhyScreen

        self.push_screen(WhyScreen(self.port, name, self.clock()))

    def tick_screens(self, now: float) -> None:
        """Bring the ages in what is open over the room up to date."""
        for screen in self._above():
            screen.tick(now)
        self.mouth.hear(self.room.snapshot)

    def _above(self) -> list[Dialog[Any]]:
        """Return what is open over the room, the topmost last."""
        if not self.is_running or self.screen is self.room:
            return []
        from lumen_tui.tui.kit.screen import Dialog

        return [screen for screen in self.screen_stack if isinstance(screen, Dialog) and screen.is_mounted]

    @property
    def drives(self) -> bool:
        """Whether the engine that this room started is the one that drives. Of two started at once only one does."""
        life, beat = self.room.snapshot.engine.life, self.room.snapshot.engine.heartbeat
        if self.engine is None or beat is None or life is EngineLife.NONE:
            return False
        return beat.pid == self.engine.pid

    def submit(
        self,
        request: Request,
        then: Callable[[Done], None] | None = None,
        otherwise: Callable[[ActionRefusal], None] | None = None,
    ) -> None:
        """Carry out one action in the background and say in the footer how it ended; `otherwise` gets why not.

        What is typed behind one that goes back or forward again is about what that shows.
        """
        release = _hold_keys(self) if isinstance(request, (Undo, Redo)) else nothing

        def answer(done: Done | None, why: ActionRefusal) -> None:
            tell(done, why)
            release()

        def tell(done: Done | None, why: ActionRefusal) -> None:
            self.command_log.did(request, self.clock(), done.summary if done else why, failed=done is None)
            if done is None:
                self.room.say(why, bad=True)
                if otherwise is not None:
                    otherwise(why)
                return
            self.room.say(done.summary)
            if then is not None:
                then(done)

        if self._bridge is not None:
            self._bridge.submit(request, answer)

    def _tell(self, text: str) -> None:
        if not self.room.is_mounted:  # the first snapshot was quicker than the screen
            self.set_timer(_SOON, lambda: self._tell(text))
        elif self.room.there:
            self.room.say(text, bad=True)

    def choose_theme(self, name: str) -> None:
        """Draw in the colours of a theme from now on; one that there is not changes nothing."""
        if self.mono:
            name = PLAIN
        if name in self.available_themes:
            self.theme = name
        before, self.look = self.look, theme.look(self.current_theme, self.lean, self.mono, spoken=self.accessible)
        self.set_class(self.lean, "lean")
        self.set_class(self.accessible, "accessible")
        self.set_class(self.mono, "mono")
        if self.look != before:
            _draw_anew(self.screen_stack)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """As Textual has it; of a frame the cells that changed are sent, and a terminal of no size gets nothing."""
        if self.size == NO_CELLS or not isinstance(self._driver, Terminal):
            return
        if not isinstance(renderable, CompositorUpdate):
            super()._display(screen, renderable)
        elif self._running and not self._batch_count and not self._closed:
            place = spoken_place(self) if self.accessible else self.cursor_position
            self.painter.show(renderable, screen.outer_size.clamp_offset(place))

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Lend the terminal to another program. A ctrl+c there reaches every process on it, and ends no room."""
        self._lent_until = math.inf
        try:
            with super().suspend():
                yield
        finally:
            self._lent_until = time.monotonic() + _AFTER_LENT

    def end_by(self, number: int) -> None:
        """Leave as a signal asks for it."""
        if number == signal.SIGINT and time.monotonic() < self._lent_until:
            return
        way_out.begin(128 + number)
        self.exit(128 + number, return_code=128 + number)


def _may_come_first(app: LumenApp, key: str) -> bool:
    """Return whether a key may be bound before the focus. Textual copies each widget's bindings to find out."""
    if app._keymap:
        return True
    nodes: list[DOMNode] = [app.screen, app] if app.focused is None else app.focused.ancestors_with_self
    return any(binding.priority for node in nodes for binding in node._bindings.key_to_bindings.get(key, ()))


def _draw_anew(screens: Iterable[Screen[Any]]) -> None:
    """Draw in other colours or signs. Textual draws only what the style sheet changes, and signs are not in it."""
    for screen in screens:
        for widget in screen.walk_children(with_self=True):
            widget.refresh()


def _take_settings(app: LumenApp, snapshot: Snapshot) -> None:
    """Take keys and colours as the files have them now."""
    keys, name, before = snapshot.config.keys, snapshot.config.room.theme, app.current_theme
    app.set_keymap(keymap(keys))
    theme.offer(app, snapshot.themes)
    app.choose_theme(name)
    if app.current_theme != before:
        app.refresh_css(animate=False)  # a theme that has other colours now keeps its name
    if slip := slip_in(keys) or theme.slip_in(name, app.available_themes):
        app._tell(slip)
