"""The rows of the list of what needs a person."""

from __future__ import annotations

from rich.cells import cell_len, chop_cells
from rich.segment import Segment

from lumen_tui.model import times
from lumen_tui.model.approvals import Approval
from lumen_tui.model.snapshot import Attention, Need, Snapshot
from lumen_tui.model.text import humanize, one_line
from lumen_tui.tui import words
from lumen_tui.tui.kit.lines import WRONG, Cell, line, need_shape, sign
from lumen_tui.tui.kit.sheets import Rows
from lumen_tui.tui.screens.approval_page import left
from lumen_tui.tui.screens.approval_risks import SandboxView, high, sandbox_of
from lumen_tui.tui.screens.questions import waits_for
from lumen_tui.tui.theme import Appearance

_BESIDE = 19  # cells of the first line around the text, but for the age
_LONGEST = 1000


class AttentionRows(Rows[Attention]):
    """What kind, what it is about, since when. The second line says more about a question."""

    def __init__(self, look: Appearance, snapshot: Snapshot) -> None:
        super().__init__(look)
        self.going: set[str] = set()  # keys of the rows whose answer is on its way
        self.now = 0.0
        self.approvals: dict[str, Approval] = {}
        self.questions: dict[str, Approval] = {}
        self._sandboxes: dict[str, SandboxView] = {}
        self.take(snapshot)

    def take(self, snapshot: Snapshot) -> None:
        """Take a newer snapshot."""
        self.now = snapshot.taken
        self.approvals = {request.id: request for request in snapshot.approvals}
        self.questions = {request.id: request for request in snapshot.questions}
        self.operators = snapshot.operators
        self._sandboxes = {request.id: sandbox_of(request, snapshot) for request in snapshot.approvals}

    def key(self, row: Attention) -> str:
        return row.key

    def line(self, row: Attention, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        going = self.key(row) in self.going
        age = "sent" if going else self._back(row) or (words.age(self.now - row.since) if row.since else "")
        risky = bool(self._risk(row))
        cells = (
            sign(self._mark(row.need, risky), ink.bad if risky or row.need in WRONG else ink.loud),
            Cell(row.need.value, ink.muted, 12, gap=1),
            sign(self.look.shapes.gutter, ink.faint, gap=1),
            Cell(
                words.held(self.operators, row.target, humanize(row.text)),
                ink.muted if going else ink.strong if selected else ink.text,
                gap=1,
            ),
            Cell(age, ink.muted, 9 if row.until else 7, right=True),
        )
        return line(width, cells)

    def _back(self, row: Attention) -> str:
        """Return when what was put off comes back: `in 40 min`, or with the day after a budget's."""
        moment = times.epoch(row.until) if "T" in row.until else 0.0
        age = words.age(moment - self.now)
        return ("soon" if age == "now" else f"in {age}") if moment else "tomorrow" if row.until else ""

    def _risk(self, row: Attention) -> str:
        request = self.approvals.get(row.target)
        return high(request, self._sandboxes[request.id]) if request else ""

    def more(self, row: Attention, width: int) -> list[Segment]:
        request, ink = self.approvals.get(row.target), self.look.ink
        if question := self.questions.get(row.target):
            offered = f" {self.look.shapes.sep} ".join(question.options) or "a free answer"
            ahead = Cell(waits_for(question, self.now), ink.accent, width // 2, right=True)
            return line(width, (Cell("", ink.muted, 16), Cell(offered, ink.muted, gap=1), ahead))
        if request is None:
            return line(width, (Cell("", ink.muted, 16), Cell(self._rest(row, width), ink.muted, gap=1)))
        risk_reason = self._risk(row)
        text = f"high risk: {risk_reason}" if risk_reason else request.risk
        risk = Cell(text, ink.bad if risk_reason else ink.muted, gap=1)
        return line(width, (Cell("", ink.muted, 16), risk, Cell(left(request, self.now), ink.accent, 30)))

    def _rest(self, row: Attention, width: int) -> str:
        """Return what the first line had no room for; of a task the end, which says why."""
        text = one_line(humanize(row.text), _LONGEST)
        size = width - _BESIDE - (9 if row.until else 7)
        if cell_len(text) <= size:
            return ""
        hidden = text[len(chop_cells(text, max(2, size - 1))[0]) :]
        room = width - 18
        return f"…{hidden[1 - room :] if row.need in WRONG and len(hidden) > room - 1 else hidden}"

    def _mark(self, need: Need, risky: bool) -> str:
        """Return the sign of a row; read aloud only a risk has one, and all else is said by its kind."""
        shapes = self.look.shapes
        return (shapes.alert if risky else "") if self.look.spoken else need_shape(need, shapes)

    def words(self, row: Attention) -> str:
        return one_line(f"{row.need} {row.target} {row.text}")

    def fields(self, row: Attention) -> dict[str, str]:
        return {"need": row.need.value, "target": row.target}
