"""Commands of the discoveries pane: the judgement on what was noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lumen_tui.model.requests.base import Request
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.panes.discoveries import DiscoveriesPane, to_merge, why_undecided
from lumen_tui.tui.room_command import DISCOVERIES

if TYPE_CHECKING:
    from lumen_tui.tui.screens.triage_verbs import TriageHabits, TriageVerbs


class DiscoveriesHandler(Handler):
    """Verdicts in the pane, and the triage screen. The next row comes under the cursor by itself, at once."""

    scope = DISCOVERIES
    _verbs: TriageVerbs | None = None
    _habits: TriageHabits

    @property
    def _pane(self) -> DiscoveriesPane:
        return cast("DiscoveriesPane", self.room.pane(DISCOVERIES))

    def _judge(self) -> TriageVerbs:
        if self._verbs is None:
            from lumen_tui.tui.screens.triage_verbs import TriageHabits, TriageVerbs

            self._habits = TriageHabits(self._promoted)
            self._verbs = TriageVerbs(self._pane, self.host, self.reasons, self._habits, self.room)
        return self._verbs

    def _why(self) -> str:
        return why_undecided(self._pane)

    why_promote = why_archive = why_later = why_similar = why_less_urgent = why_more_urgent = why_retype = _why

    def why_merge(self) -> str:
        if refusal := self._why():
            return refusal
        return "" if len(to_merge(self._pane)) > 1 else f"mark duplicates with {self.key('mark')}, then merge"

    def do_promote(self) -> None:
        self._decide("promote")

    def do_archive(self) -> None:
        self._decide("archive")

    def do_later(self) -> None:
        self._decide("later")

    def do_merge(self) -> None:
        self._decide("merge")

    def do_similar(self) -> None:
        self._decide("similar")

    def do_less_urgent(self) -> None:
        self._decide("less_urgent")

    def do_more_urgent(self) -> None:
        self._decide("more_urgent")

    def do_retype(self) -> None:
        self._decide("retype")

    def again(self, request: Request) -> None:
        self._judge().again(request, self.rows.targets())

    def _promoted(self, unit_id: str) -> None:
        self._pane.promoted = unit_id

    def _decide(self, verb: str) -> None:
        from lumen_tui.tui.screens.triage_verbs import VERBS

        VERBS[verb](self._judge(), self.rows.targets())

    def open(self) -> None:
        """Open the triage screen at the discovery."""
        from lumen_tui.tui.screens.triage import TriageScreen

        self._judge()
        screen = TriageScreen(self.host, self.reasons, self._habits, at=self.selected.node.id)
        self.host.push_screen(screen)
