"""The command about what the agent believes of the live system."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lumen_tui.model.freshness import FactState
from lumen_tui.tui.handlers.base import Handler


class FactsHandler(Handler):
    """The freshness screen."""

    def do_freshness(self) -> None:
        self.show_facts("")

    def show_facts(self, at: str) -> None:
        """The screen, with the cursor on the fact `at` where it is named."""
        from lumen_tui.storage.layout import Layout
        from lumen_tui.store.memory.facts import FactIndex
        from lumen_tui.tui.screens.facts.screen import FreshnessScreen

        lumen, index = self.room.lumen, FactIndex(Layout(Path(self.snapshot.root)))

        def read() -> Sequence[FactState]:
            index.refresh()
            return index.states()

        lumen.push_screen(FreshnessScreen(lumen.port, lumen.clock(), read, self.refusal, at))
