"""Looking for the near double of the discovery under the cursor, once the cursor rests."""

from __future__ import annotations

import asyncio

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import Port
from lumen_tui.model.snapshot import DiscoveryRow
from lumen_tui.storage.files import StoreError
from lumen_tui.tui.commands import DISCOVERIES
from lumen_tui.tui.panes.base import PanedRoom
from lumen_tui.tui.panes.discoveries import DiscoveriesPane

_REST = 0.15  # seconds without a move


class LikenessFinder:
    """Asks the port in a thread, and only about rows that were looked at."""

    def __init__(self, room: PanedRoom, port: Port) -> None:
        self._room = room
        self._port = port
        self._job: asyncio.Task[None] | None = None

    def look(self, pane: DiscoveriesPane) -> None:
        """The cursor of the discoveries may stand on another row."""
        row = pane.rows.selected if pane.rows is not None else None
        if not isinstance(row, DiscoveryRow) or self._room.current.scope != DISCOVERIES:
            return
        if row.like is not None or pane.knows(row.node.id):
            return
        if self._job is not None:
            self._job.cancel()
        self._job = asyncio.create_task(self._ask(pane, row.node.id))

    async def _ask(self, pane: DiscoveriesPane, node_id: str) -> None:
        await asyncio.sleep(_REST)
        try:
            found = await asyncio.to_thread(self._port.like, node_id)
        except (ActionError, StoreError):
            return  # a hint less; what is wrong with the folder is told elsewhere
        pane.learn(node_id, found)
