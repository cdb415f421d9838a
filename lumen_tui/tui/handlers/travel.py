"""Commands of the decay pane that travel in time: look ahead, try another half-life or threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lumen_tui.model.decay import DecayRule
from lumen_tui.model.times import DAY
from lumen_tui.tui.commands import DECAY
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.kit.jobs import Loader
from lumen_tui.tui.panes.decay import DecayPane
from lumen_tui.tui.panes.travel import Foresight, Travel

if TYPE_CHECKING:
    from lumen_tui.tui.room import Room

_WEEK = 7


class TravelHandler(Handler):
    """Moves the pane's clock and rule, and asks the port, in a thread, what memory would look like there."""

    scope = DECAY

    def __init__(self, room: Room) -> None:
        super().__init__(room)
        self._loader: Loader[Foresight] = Loader(room, self._ask, self._foreseen)

    @property
    def _pane(self) -> DecayPane:
        return cast("DecayPane", self.room.pane(DECAY))

    @property
    def _known(self) -> DecayRule:
        """The rule in force."""
        return self.snapshot.decay.rule

    def do_day_on(self) -> None:
        self._go(self._pane.travel.by_days(1))

    def do_day_back(self) -> None:
        self._go(self._pane.travel.by_days(-1))

    def do_week_on(self) -> None:
        self._go(self._pane.travel.by_days(_WEEK))

    def do_week_back(self) -> None:
        self._go(self._pane.travel.by_days(-_WEEK))

    def do_half_life_up(self) -> None:
        self._go(self._pane.travel.half_life_stepped(1, self._known))

    def do_half_life_down(self) -> None:
        self._go(self._pane.travel.half_life_stepped(-1, self._known))

    def do_threshold_up(self) -> None:
        self._go(self._pane.travel.threshold_stepped(1, self._known))

    def do_threshold_down(self) -> None:
        self._go(self._pane.travel.threshold_stepped(-1, self._known))

    def do_present(self) -> None:
        self._go(Travel())

    def _go(self, travel: Travel) -> None:
        pane = self._pane
        if travel == pane.travel:
            self.room.say("It goes no further.")
            return
        pane.outdated = self._loader.load
        pane.go(travel)
        if travel.moving:
            self._loader.load()

    def _ask(self) -> Foresight:
        """Called in a thread."""
        travel, at = self._pane.travel, self.room.lumen.clock()
        at += travel.days * DAY
        view, rows = self.room.lumen.port.decay_at(travel.rule(self._known), at)
        return Foresight(travel, at, view, rows)

    def _foreseen(self, foresight: Foresight) -> None:
        self._pane.foresee(foresight)
