"""Commands of the decay pane."""

from __future__ import annotations

import asyncio

from lumen_tui.engine.outcome import ActionError
from lumen_tui.model.decay import Fading
from lumen_tui.tui.commands import DECAY
from lumen_tui.tui.handlers.base import Handler


class DecayHandler(Handler):
    """Pin, touch, archive now."""

    scope = DECAY

    def _why(self) -> str:
        return "nothing fades" if self.selected is None else ""

    why_pin = why_touch = why_archive_node = _why

    def do_pin(self) -> None:
        self.submit("decay.pin", node_ids=self.rows.targets())

    def do_touch(self) -> None:
        self.submit("decay.touch", node_ids=self.rows.targets())

    def do_archive_node(self) -> None:
        title = f"Archive {self.count_words('node', 'nodes')} now"
        self.ask_reason(title, "node.archive", node_ids=self.rows.targets())

    def open(self) -> None:
        """The node in full."""
        self.room.run_worker(self._fetch_and_open(self.selected))

    async def _fetch_and_open(self, row: Fading) -> None:
        from lumen_tui.tui.screens.node_detail import NodeDetail

        try:
            node = await asyncio.to_thread(self.room.lumen.port.node, row.node_id)
        except ActionError as error:
            self.room.say(str(error), bad=True)
            return
        self.room.lumen.push_screen(NodeDetail(node, self.room.lumen.clock()), self._chosen)

    def _chosen(self, action: str | None) -> None:
        if action:
            self.room.action_do(action)
