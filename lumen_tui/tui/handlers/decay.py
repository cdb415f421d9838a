"""Commands of the decay pane about its nodes: pin, touch, archive, bring back."""

from __future__ import annotations

from typing import Any

from lumen_tui.tui.commands import DECAY
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.kit.leaving import step_past


class DecayHandler(Handler):
    """Pin, touch, archive now; the lists of what does not fade."""

    scope = DECAY

    def _why(self) -> str:
        return "nothing fades" if self.selected is None else ""

    why_pin = why_touch = why_archive_node = _why

    def do_pin(self) -> None:
        self._act("decay.pin")

    def do_touch(self) -> None:
        self._act("decay.touch")

    def _act(self, verb: str) -> None:
        """Act on the marked rows or the selected one, and go on to the next: these will stand elsewhere."""
        targets = self.rows.targets()
        self.submit(verb, node_ids=targets)
        step_past(self.rows, targets)

    def do_archive_node(self) -> None:
        title = f"Archive {self.count_words('node', 'nodes')} now"
        self.ask_reason(title, "node.archive", node_ids=self.rows.targets())

    def why_archived_nodes(self) -> str:
        return "" if self.snapshot.decay.archived else "nothing is archived"

    def do_archived_nodes(self) -> None:
        from lumen_tui.tui.screens.memory.nodes_screen import ArchivedScreen

        self._list_nodes(ArchivedScreen)

    def why_protected_nodes(self) -> str:
        return "" if self.snapshot.decay.protected else "nothing is protected"

    def do_protected_nodes(self) -> None:
        from lumen_tui.tui.screens.memory.nodes_screen import ProtectedScreen

        self._list_nodes(ProtectedScreen)

    def _list_nodes(self, screen: Any) -> None:
        lumen = self.room.lumen
        lumen.push_screen(screen(lumen.port, lumen.clock(), self.refusal))

    def open(self) -> None:
        """The node in full."""
        self.show_node(self.selected.node_id)
