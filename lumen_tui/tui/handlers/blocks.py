"""The command that opens the memory blocks."""

from __future__ import annotations

from lumen_tui.tui.handlers.base import Handler


class BlocksHandler(Handler):
    """The screen of the memory blocks."""

    def do_blocks(self) -> None:
        from lumen_tui.tui.screens.blocks.screen import BlocksScreen

        lumen = self.room.lumen
        lumen.push_screen(BlocksScreen(lumen.port, self.snapshot, self.refusal))
