"""Files that cannot be read: where, what is wrong, what to do."""

from __future__ import annotations

from rich.segment import Segment

from lumen_tui.model.snapshot import Problem, Snapshot
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.kit.cells import Cell, line
from lumen_tui.tui.kit.reader import ReadingScreen
from lumen_tui.tui.kit.rows_sheet import ListSheet, Rows, appearance_of


class ProblemRows(Rows[Problem]):
    """The place and what is wrong there; the hint below the selected one."""

    def key(self, row: Problem) -> str:
        return f"{row.where}: {row.what}"

    def line(self, row: Problem, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        where = min(40, width * 2 // 5)
        return line(width, (Cell(row.where, ink.bad, where), Cell(row.what, ink.strong if selected else ink.text)))

    def more(self, row: Problem, width: int) -> list[Segment]:
        return line(width, (Cell(row.hint or "mend the file by hand; the rest of it is read", self.look.ink.muted),))

    def words(self, row: Problem) -> str:
        return one_line(f"{row.where} {row.what} {row.hint}")


class ProblemsScreen(ListSheet[None, Problem]):
    """Every problem of the state folder; enter shows one in full. The cursor begins on the one called `at`."""

    EMPTY = "Every file can be read."
    TWO_LINES = True

    def __init__(self, snapshot: Snapshot, at: str = "") -> None:
        super().__init__("Problems")
        self._snapshot = snapshot
        self._at = at

    def rows_view(self) -> ProblemRows:
        return ProblemRows(appearance_of(self.app))

    def on_mount(self) -> None:
        super().on_mount()
        self.show(self._snapshot)
        if self._at:
            self.rows.select_key(self._at)

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer picture."""
        count = len(snapshot.problems)
        heading = words.plural(count, "problem") if count else "No problems"
        self.fill(snapshot.problems, heading, one_line(snapshot.root, 60))

    def opened(self, row: Problem) -> None:
        facts = (("where", row.where), ("what to do", row.hint or "mend the file by hand"))
        self.app.push_screen(ReadingScreen(row.where, row.what, facts))
