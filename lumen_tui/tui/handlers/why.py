"""What caused the selected row, and what came of it."""

from __future__ import annotations

from lumen_tui.model import agent
from lumen_tui.tui.handlers.base import Handler


class WhyHandler(Handler):
    """One command for every pane; where there is no list it is about the last loop."""

    def why_why(self) -> str:
        if self._name():
            return ""
        return "there is no row" if self.room.current.rows is not None else "no loop has ended yet"

    def do_why(self) -> None:
        from lumen_tui.tui.screens.audit.lineage_screen import WhyScreen

        self.room.lumen.push_screen(WhyScreen(self.room.lumen.port, self._name(), self.room.lumen.clock()))

    def _name(self) -> str:
        rows = self.room.current.rows
        if rows is not None:
            return rows.view.key(rows.selected) if rows.selected is not None else ""
        state = self.snapshot.loop
        return agent.task_id(state.loop) if state is not None and state.loop > 0 else ""
