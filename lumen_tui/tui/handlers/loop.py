"""Commands of the loop pane."""

from __future__ import annotations

from lumen_tui.tui.commands import LOOP
from lumen_tui.tui.handlers.base import Handler


class LoopHandler(Handler):
    """The last loop in full."""

    scope = LOOP

    def why_open(self) -> str:
        return "" if self.snapshot.packets else "no loop has ended yet"

    def open(self) -> None:
        """The packet of the last loop."""
        from lumen_tui.tui.screens.loops.packets_screen import PacketSheet

        if why := self.why_open():
            self.room.say(why)
            return
        lumen, packet = self.room.lumen, self.snapshot.packets[-1]
        lumen.push_screen(PacketSheet(lumen.port, self.snapshot.root, packet, lumen.clock()))
