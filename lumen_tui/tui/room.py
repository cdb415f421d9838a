"""The room of now: snapshots come as they change, and commands are carried out."""

from __future__ import annotations

from textual import events, on
from textual.timer import Timer

from lumen_tui.model.snapshot import Attention, Snapshot
from lumen_tui.tui.chrome import footer_commands
from lumen_tui.tui.host import Host
from lumen_tui.tui.moved_keys import MOVED, moved_to
from lumen_tui.tui.panes.base import Pane
from lumen_tui.tui.panes.discoveries import DiscoveriesPane, LikenessFinder
from lumen_tui.tui.room_command import EVERYWHERE, RoomCommand
from lumen_tui.tui.room_screen import RoomScreen

_FAST, _SLOW = 2.5, 10.0  # seconds between ticks: while a running time is on screen, and otherwise
_OLD_KEYS = frozenset(key for keys in MOVED.values() for key in keys)
_LOOKED_AT = 20  # tasks, of which the live ones stand near the front


def pace(snapshot: Snapshot, lean: bool) -> float:
    """Seconds to the next tick: few while a running time is on screen."""
    tasks = snapshot.tasks
    lively = any(tasks[index].status.alive for index in range(min(_LOOKED_AT, len(tasks))))
    return _FAST if lively and not lean else _SLOW


class Room(RoomScreen):
    """The main screen. Commands are looked up in the handlers."""

    PATIENCE = 30.0

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._likeness = LikenessFinder(self, host.port)
        self._timer: Timer | None = None
        self._pace = _FAST

    def begin(self) -> None:
        """Take snapshots from now on."""
        self._host.await_snapshot()
        self._wait()

    @property
    def now(self) -> float:
        """The time, in seconds since 1970."""
        return self._host.clock()

    def show(self, snapshot: Snapshot, now: float) -> None:
        """Render a newer snapshot, and tick as often as something in it moves."""
        super().show(snapshot, now)
        if self._timer is not None and self._pace != pace(snapshot, self._host.lean):
            self._timer.stop()
            self._tick()

    def _tick(self) -> None:
        """Bring relative times up to date, as often as something on screen moves."""
        now, engine = self._host.clock(), self._host.engine
        if engine is not None:
            engine.poll()  # this room started it: where it has ended, nobody else lets it go
        for pane in self.panes:
            pane.tick(now)
        self.band.tick(now)
        self.columns.share(self.arranged)
        self._host.tick_screens(now)
        self._lines_again()
        self._pace = pace(self.snapshot, self._host.lean)
        self._wait()

    def _wait(self) -> None:
        """Tick when the clock comes to a multiple of the pace: what turns, runs and is held changes in one frame."""
        wait = self._pace - self._host.clock() % self._pace
        if wait < self._pace / 10:  # it came a little early; and a timer of no length would never go off
            wait += self._pace
        self._timer = self.set_timer(wait, self._tick)

    def on_key(self, event: events.Key) -> None:
        """Run the operator's own command with this key, or tell where one went whose key moved with this version."""
        scopes = (self.band.SCOPE,) if self.band.in_front else (self.current.scope, EVERYWHERE)
        if self.handlers.pressed(event.key):
            event.stop()
        elif event.key in _OLD_KEYS and (words := moved_to(event.key, scopes, self.snapshot.config.keys)):
            self.say(words)

    @property
    def refusal(self) -> str:
        """Why nothing can be written from here; the empty string where it can."""
        asked = "this room was opened with --read-only" if self._host.read_only else ""
        return self.snapshot.read_only or asked

    @property
    def drives(self) -> bool:
        """Whether the engine that drives was started here."""
        return self._host.drives

    def offered(self) -> list[RoomCommand]:
        """Return what the footer offers: what works on the row of the band, or on the current pane."""
        if self.band.in_front:
            return self.band.offered()
        commands = footer_commands(self.current.scope, self.current.rows is not None)
        return [command for command in commands if not self.why_not(command)]

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""
        return (self.refusal if command.writes else "") or super().why_not(command)

    def open_row(self) -> None:
        """Open the selected row, or what a pane without rows shows, in full."""
        self.handlers.open(self.current.scope)

    def open_need(self, need: Attention | None) -> None:
        """Go to where a need is answered."""
        self.handlers.needs.chosen(need)

    @on(Pane.Updated)
    def cursor_moved(self, event: Pane.Updated) -> None:
        """Look for near doubles of the discovery under the cursor."""
        if isinstance(event.pane, DiscoveriesPane):
            self._likeness.look(event.pane)
