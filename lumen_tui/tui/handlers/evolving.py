"""The command that opens what was learnt."""

from __future__ import annotations

from lumen_tui.tui.handlers.base import Handler


class EvolvingHandler(Handler):
    """The evolution screen."""

    def do_evolution(self) -> None:
        from lumen_tui.tui.screens.evolution.screen import EvolutionScreen

        lumen = self.room.lumen
        lumen.push_screen(EvolutionScreen(lumen.port, self.snapshot, self.refusal))
