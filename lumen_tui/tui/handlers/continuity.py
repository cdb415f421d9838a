"""The commands about what was: packets of loops, and what happened since the operator last looked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lumen_tui.model import agent
from lumen_tui.tui.commands import SIGNALS
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.handlers.facts import FactsHandler

if TYPE_CHECKING:
    from lumen_tui.tui.kit.rows_sheet import ListSheet
    from lumen_tui.tui.screens.audit.digest_screen import DigestRow

# Where what has no thing of its own is told of: group -> command.
_ELSEWHERE = {
    "budget": "budget", "learnt": "evolution", "engine": "log", "people": "journal", "approvals": "needs",
    "drift": "freshness",
}  # fmt: skip


class ContinuityHandler(Handler):
    """Packets and the digest."""

    def do_packets(self) -> None:
        self.show_packets(0)

    def show_packets(self, at: int) -> None:
        """The packets, with the cursor on that of loop `at` where it is given."""
        from lumen_tui.tui.screens.loops.packets_screen import PacketsScreen

        self.room.lumen.push_screen(PacketsScreen(self.room.lumen.port, self.snapshot, at))

    def why_since(self) -> str:
        return "" if self.room.lumen.presence.ready else "the state folder is not read yet"

    def do_since(self) -> None:
        from lumen_tui.tui.screens.audit.digest_screen import DigestScreen

        self.room.lumen.push_screen(DigestScreen(self.room.lumen.presence.digest, self._go))

    def _go(self, screen: ListSheet[None, DigestRow], row: DigestRow) -> None:
        """To what a row is about: above the digest where it is a sheet, so that esc comes back."""
        kind, target = row.entry.kind, row.entry.target
        if kind == "signal":
            screen.dismiss(None)
            self._to_signal(target)
        elif kind == "task":
            self.show_task(target)
        elif kind == "loop":
            self.show_packets(agent.loop_of(target))
        elif kind == "node":
            self.show_node(target)
        elif kind == "fact":
            FactsHandler(self.room).show_facts(target)
        elif action := _ELSEWHERE.get(row.group.name):
            self.room.action_do(action)

    def _to_signal(self, target: str) -> None:
        pane = self.room.pane(SIGNALS)
        self.room.go_to(pane)
        if pane.rows is not None:
            pane.rows.set_filter("")
            if not pane.rows.select_key(target):
                self.room.say("The signal is not in the list any more.")
