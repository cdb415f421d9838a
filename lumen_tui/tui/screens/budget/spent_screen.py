"""The tasks that spent most today, each with what caused it behind `w` and all about it behind enter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.segment import Segment

from lumen_tui.engine.port import Port
from lumen_tui.model import ids
from lumen_tui.model.spendreport import Share
from lumen_tui.tui import words
from lumen_tui.tui.kit.cells import Cell, line
from lumen_tui.tui.kit.rows_sheet import ListSheet, Rows, look_of
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.screens.tasks.detail_screen import TaskDetailScreen
from lumen_tui.tui.theme import Look


class ShareRows(Rows[Share]):
    """What a task is about, and what it cost."""

    def __init__(self, look: Look, titles: Mapping[str, str]) -> None:
        super().__init__(look)
        self._titles = titles

    def key(self, row: Share) -> str:
        return row.name

    def line(self, row: Share, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, amount = self.look.ink, row.amount
        cells = (
            Cell(ids.short(row.name), ink.muted, 12),
            Cell(self._titles.get(row.name, ""), ink.strong if selected else ink.text),
            Cell(f"{words.kilo(amount.tokens)} tokens", ink.text, 13, right=True),
            Cell(f"${amount.usd:.4f}", ink.text, 10, right=True),
        )
        return line(width, cells)

    def words(self, row: Share) -> str:
        return f"{row.name} {self._titles.get(row.name, '')}"


class SpentScreen(ListSheet[None, Share]):
    """Those that the budget's page names, as a list with a cursor."""

    EMPTY = "No task made a call today."
    WHY = True

    def __init__(self, port: Port, shares: Sequence[Share], titles: Mapping[str, str], refusal: str) -> None:
        super().__init__("Who spent today")
        self._port, self._shares, self._titles, self._refusal = port, shares, titles, refusal

    def rows_view(self) -> ShareRows:
        return ShareRows(look_of(self.app), self._titles)

    def keys(self) -> Keys:
        return (("enter", "open"), ("w", "what caused it"), ("/", "filter"), ("esc", "back"))

    def on_mount(self) -> None:
        super().on_mount()
        self.fill(self._shares, "Who spent today", words.plural(len(self._shares), "task"))

    def opened(self, row: Share) -> None:
        self.app.push_screen(TaskDetailScreen(self._port, row.name, refusal=self._refusal))
