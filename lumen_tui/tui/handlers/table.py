"""Which handler carries out which command."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lumen_tui.tui.commands import BY_ACTION
from lumen_tui.tui.handlers.base import NO_LIST, NO_ROWS, Handler
from lumen_tui.tui.handlers.decay import DecayHandler, RuleHandler, TravelHandler
from lumen_tui.tui.handlers.discoveries import DiscoveriesHandler
from lumen_tui.tui.handlers.needs import NeedsHandler
from lumen_tui.tui.handlers.openers import (
    ContinuityHandler,
    LoopHandler,
    OpenersHandler,
    OverviewHandler,
    SpendingHandler,
)
from lumen_tui.tui.handlers.operators import OperatorsHandler
from lumen_tui.tui.handlers.own_commands import OwnCommandsHandler
from lumen_tui.tui.handlers.panes import PanesHandler, SignalsHandler, WorkersHandler
from lumen_tui.tui.handlers.places import PlacesHandler
from lumen_tui.tui.handlers.repeat import RepeatHandler
from lumen_tui.tui.handlers.running import EngineHandler, QuitHandler, ScreensHandler
from lumen_tui.tui.host import Host
from lumen_tui.tui.panes.base import PanedRoom
from lumen_tui.tui.room_command import EVERYWHERE, ROWS, RoomCommand
from lumen_tui.tui.room_commands import COMMANDS

_KINDS: tuple[type[Handler], ...] = (
    OpenersHandler,
    OverviewHandler,
    ContinuityHandler,
    PanesHandler,
    NeedsHandler,
    EngineHandler,
    ScreensHandler,
    QuitHandler,
    LoopHandler,
    WorkersHandler,
    SignalsHandler,
    DiscoveriesHandler,
    DecayHandler,
    TravelHandler,
    RuleHandler,
    SpendingHandler,
    RepeatHandler,
    PlacesHandler,
    OperatorsHandler,
    OwnCommandsHandler,
)


class RoomHandlers:
    """The methods of all handlers by action."""

    def __init__(self, room: PanedRoom, host: Host) -> None:
        self._room = room
        self._panes = PanesHandler(room, host)
        self._handlers = [kind(room, host) for kind in _KINDS]
        for handler in self._handlers:
            if isinstance(handler, RepeatHandler):
                handler.pane_handler = self._of
        self._places = next(handler for handler in self._handlers if isinstance(handler, PlacesHandler))
        self._places.carry_out = self._again
        self._do: dict[str, Callable[[], None]] = {}
        self._why: dict[str, Callable[[], str]] = {}
        for command in COMMANDS:
            self._find(command)

    def run(self, command: RoomCommand) -> None:
        """Carry a command out. One that belongs to a pane gives it the focus first."""
        if command.scope not in (EVERYWHERE, ROWS) and self._room.current.scope != command.scope:
            self._room.go_to(self._room.pane(command.scope))
        self._places.before(command)
        self._do[command.action]()
        self._places.after(command)

    def _again(self, action: str) -> None:
        """Open what a command opened, or the selected row, where that can be done now."""
        command = BY_ACTION[action]
        if why := self.why_not(command):
            self._room.say(f"{command.label}: {why}")
        else:
            self._do[action]()

    def why_not(self, command: RoomCommand) -> str:
        """Return the handler's reason why a command cannot be carried out now, or the empty string."""
        rows = self._room.current.rows
        if command.scope == ROWS and rows is not None and not len(rows.model.rows):
            return NO_ROWS
        if command.scope == ROWS and rows is None:
            handler = self._of(self._room.current.scope) if command.action == "open" else None
            return handler.why_open() if handler else NO_LIST
        why = self._why.get(command.action)
        return why() if why is not None else ""

    def open(self, scope: str) -> None:
        """Open the selected row of a pane in full."""
        if handler := self._of(scope):
            self._places.before(BY_ACTION["open"])
            handler.open()
            self._places.after(BY_ACTION["open"])

    def pressed(self, key: str) -> bool:
        """Run the operator's own command with this key; return whether there is one."""
        return any(handler.pressed(key) for handler in self._handlers if isinstance(handler, OwnCommandsHandler))

    def is_own(self, key: str) -> bool:
        """Return whether a command of the operator's own has this key."""
        return any(handler.with_key(key) for handler in self._handlers if isinstance(handler, OwnCommandsHandler))

    @property
    def needs(self) -> NeedsHandler:
        """The handler of what needs a person."""
        return next(handler for handler in self._handlers if isinstance(handler, NeedsHandler))

    def _of(self, scope: str) -> Handler | None:
        return next((handler for handler in self._handlers if handler.scope == scope), None)

    def _find(self, command: RoomCommand) -> None:
        action = command.action
        if command.scope == ROWS:
            self._do[action] = partial(self._row, action)
            return
        if action.startswith("pane_"):
            self._do[action] = partial(self._panes.to_pane, int(action[-1]))
            return
        handler = next(handler for handler in self._handlers if hasattr(handler, f"do_{action}"))
        self._do[action] = getattr(handler, f"do_{action}")
        if hasattr(handler, f"why_{action}"):
            self._why[action] = getattr(handler, f"why_{action}")

    def _row(self, action: str) -> None:
        rows = self._room.current.rows
        if rows is not None:
            rows.action_row(action)
        elif action == "open":
            self.open(self._room.current.scope)
