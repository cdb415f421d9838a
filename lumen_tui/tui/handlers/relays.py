"""The command that opens the relays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.tui.handlers.base import Handler

if TYPE_CHECKING:
    from lumen_tui.model.relay import Box


class RelayHandler(Handler):
    """The screen of relays."""

    def do_relay(self) -> None:
        self.show_relays("")

    def show_relays(self, at: str) -> None:
        """The screen, with the cursor on the submission `at` where it is named."""
        from lumen_tui.storage.layout import Layout
        from lumen_tui.store.memory.relays import RelayIndex
        from lumen_tui.tui.screens.relays.screen import RelayScreen

        lumen, index = self.room.lumen, RelayIndex(Layout(Path(self.snapshot.root)))

        def read() -> Sequence[Box]:
            index.refresh()
            return index.boxes

        lumen.push_screen(RelayScreen(lumen.port, lumen.clock(), read, self.refusal, at))
