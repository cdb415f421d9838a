"""Everything that needs a person, in the order in which it should be looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType

from lumen_tui.model.snapshot import Attention, Need, Snapshot
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.screens.base import Keys
from lumen_tui.tui.screens.rows import ListSheet, Rows, look_of
from lumen_tui.tui.theme import Look
from lumen_tui.tui.widgets.cells import Cell, line

_WRONG = frozenset({Need.ENGINE, Need.FAILED, Need.LOST, Need.PROBLEM})


class AttentionRows(Rows[Attention]):
    """What kind, what it is about, since when."""

    def __init__(self, look: Look, now: float) -> None:
        super().__init__(look)
        self.now = now

    def key(self, row: Attention) -> str:
        return f"{row.need}:{row.target}"

    def line(self, row: Attention, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        age = words.age(self.now - row.since) if row.since else ""
        cells = (
            Cell(self.look.shapes.need, ink.bad if row.need in _WRONG else ink.loud, 1),
            Cell(row.need.value, ink.muted, 9, gap=1),
            Cell(row.text, ink.strong if selected else ink.text),
            Cell(age, ink.muted, 7, right=True),
        )
        return line(width, cells)

    def words(self, row: Attention) -> str:
        return one_line(f"{row.need} {row.target} {row.text}")


class AttentionScreen(ListSheet[Attention, Attention]):
    """Answers the one to go to. `put_aside` takes one off the list, or says why it stays."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("d", "put_aside", show=False)]
    EMPTY = "Nothing needs you."

    def __init__(self, snapshot: Snapshot, put_aside: Callable[[Attention], str]) -> None:
        super().__init__("Needs you")
        self._snapshot = snapshot
        self._put_aside = put_aside

    def keys(self) -> Keys:
        return (("enter", "go there"), ("d", "put aside"), *super().keys()[1:])

    def action_put_aside(self) -> None:
        if self.rows.selected is not None:
            self.say(self._put_aside(self.rows.selected), bad=True)

    def rows_view(self) -> AttentionRows:
        return AttentionRows(look_of(self.app), self._snapshot.taken)

    def on_mount(self) -> None:
        super().on_mount()
        self.show(self._snapshot)

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer picture."""
        view = self.rows.view
        if isinstance(view, AttentionRows):
            view.now = snapshot.taken
        self.fill(snapshot.attention, f"Needs you: {len(snapshot.attention)}")

    def opened(self, row: Attention) -> None:
        self.dismiss(row)
