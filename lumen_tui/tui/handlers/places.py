"""Where one was in the room, back and forward; and the saved filters of the pane in front."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.host import Host
from lumen_tui.tui.panes.base import PanedRoom
from lumen_tui.tui.room_command import RoomCommand

_MOST = 100  # places that are remembered
_STEPS = frozenset({"go_back", "go_forward"})
# What opens over the room and is no place: questions, and what is asked of the screen in front.
_NO_PLACES = frozenset({"help", "palette", "filters", "own_commands", "quit", "pause", "kill", *_STEPS})


class RoomPlace(NamedTuple):
    """A pane with its selected row, and the command that opened a screen from there, if one did."""

    scope: str
    key: str
    action: str = ""


class Visits:
    """The places in the order in which one came to them, as a browser keeps them."""

    def __init__(self) -> None:
        self._places: list[RoomPlace] = []
        self._at = -1

    def came(self, place: RoomPlace) -> None:
        """Add a place behind the present one, and forget those that came after; another row of a pane is the same."""
        here = self._places[self._at] if self._at >= 0 else None
        if here is not None and (here.scope, here.action) == (place.scope, place.action):
            self._places[self._at] = place
            return
        self._places[self._at + 1 :] = [place]
        del self._places[:-_MOST]
        self._at = len(self._places) - 1

    def can_step(self, by: int) -> bool:
        """Return whether there is a place on that side."""
        return 0 <= self._at + by < len(self._places)

    def step(self, by: int) -> RoomPlace:
        """Go to the next place on that side."""
        self._at += by
        return self._places[self._at]


class PlacesHandler(Handler):
    """Back, forward, and the list of saved filters."""

    def __init__(self, room: PanedRoom, host: Host) -> None:
        super().__init__(room, host)
        self._visits = Visits()
        self._stepping = False
        self.carry_out: Callable[[str], None] = lambda _: None  # a command by name; the table of handlers sets it

    def _here(self, action: str = "") -> RoomPlace:
        rows = self.room.current.rows
        key = rows.view.key(rows.selected) if rows is not None and rows.selected is not None else ""
        return RoomPlace(self.room.current.scope, key, action)

    def before(self, command: RoomCommand) -> None:
        """Remember where a command begins."""
        if not self._stepping and command.action not in _STEPS:
            self._visits.came(self._here())

    def after(self, command: RoomCommand) -> None:
        """Remember where a command led: to another pane, or to a screen that it opened."""
        if self._stepping or command.action in _STEPS:
            return
        opened = command.action == "open" or len(self.host.screen_stack) > 1
        place = opened and not command.writes and command.action not in _NO_PLACES
        if place or not opened:
            self._visits.came(self._here(command.action if place else ""))

    def _why(self, by: int) -> str:
        above = self.host.screen_stack[1:]
        if any(getattr(screen, "HOLDS", True) for screen in above):
            return "decide here first"
        if by < 0 and not above:
            return "" if self._visits.can_step(-1) or self._elsewhere() else "this is where you began"
        return "" if self._visits.can_step(by) else "there is nothing further"

    def _elsewhere(self) -> bool:
        """Return whether the last place is not the pane in front: a screen that was left since."""
        return self._visits.can_step(0) and self._visits.step(0).action != ""

    def why_go_back(self) -> str:
        return self._why(-1)

    def why_go_forward(self) -> str:
        return self._why(1)

    def do_go_back(self) -> None:
        """Go to the place before; from the room, to the screen that was left last, if one was."""
        to_screen = len(self.host.screen_stack) == 1 and self._elsewhere()
        self._go(0 if to_screen else -1)

    def do_go_forward(self) -> None:
        self._go(1)

    def _go(self, by: int) -> None:
        place = self._visits.step(by)
        while self.host.screen is not self.host.screen_stack[0]:
            self.host.screen.dismiss(None)
        pane = self.room.pane(place.scope)
        self.room.go_to(pane)
        if pane.rows is not None and place.key:
            pane.rows.select_key(place.key)
        if place.action:
            self._stepping = True
            self.carry_out(place.action)
            self._stepping = False

    def why_filters(self) -> str:
        return "" if self.room.current.rows is not None else "this pane has no list"

    def do_filters(self) -> None:
        """Open the saved filters of the pane in front; the chosen one narrows it."""
        from lumen_tui.tui.screens.filters import FiltersScreen

        pane, host = self.room.current, self.host
        rows = pane.rows
        if rows is None:
            return

        def chosen(text: str | None) -> None:
            if text:
                rows.set_filter(text)
                pane.recaption()

        host.push_screen(FiltersScreen(host.port, self.snapshot, pane.scope, rows.filter_text, self.refusal), chosen)
