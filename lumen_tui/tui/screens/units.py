"""Work units: what is under way, blocked and ready, who works on each; made into tasks, claimed, blocked and done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.segment import Segment
from textual.app import ComposeResult

from lumen_tui.actions.unit_views import UnitRow, unit_rows
from lumen_tui.engine.port import Port
from lumen_tui.model import times
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import Status, TaskView, live_ones
from lumen_tui.model.work import Tracked
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.keys import KeysLine, key_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Cell, Lines, line, sign
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import Rows, fill
from lumen_tui.tui.panes.sorting import Sorting, SortOrder
from lumen_tui.tui.panes.workers import short_id
from lumen_tui.tui.screens.unit_page import UnitScreen
from lumen_tui.tui.screens.unit_verbs import UnitSheet
from lumen_tui.tui.theme import Appearance, Shapes

_WIDE = 100  # columns from which lane, acceptance and who works on it have a place
_STATES = ("in progress", "blocked", "ready", "waiting", "done")  # in the order of the list


def unit_shape(state: str, shapes: Shapes) -> str:
    """Return the mark of a state."""
    marks = {"in progress": shapes.status[Status.RUNNING], "blocked": shapes.paused, "done": shapes.status[Status.DONE]}
    return marks.get(state, shapes.status[Status.QUEUED])


def working_on(tasks: Sequence[TaskView]) -> dict[str, list[TaskView]]:
    """Return the tasks that have not ended, by their work unit."""
    by_unit: dict[str, list[TaskView]] = {}
    for view in live_ones(tasks):
        if view.spec.wu_id and not view.status.ended:
            by_unit.setdefault(view.spec.wu_id, []).append(view)
    return by_unit


class UnitRows(Rows[UnitRow]):
    """State by shape, number, priority, title, how far it is, who works on it; below the last checkpoint."""

    def __init__(self, look: Appearance, now: float) -> None:
        super().__init__(look, now)
        self.tasks: Mapping[str, Sequence[TaskView]] = {}

    def key(self, row: UnitRow) -> str:
        return row.unit.id

    def line(self, row: UnitRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, unit = self.look.ink, row.unit
        wide = width >= _WIDE
        under_way, settled = row.state == "in progress", row.state in ("done", "waiting")
        mark = ink.good if under_way else ink.accent if row.state == "blocked" else ink.muted
        text = ink.strong if selected else ink.muted if settled else ink.text
        cells = [
            sign("" if self.look.spoken else unit_shape(row.state, self.look.shapes), mark),
            Cell(unit.id, ink.text, 8, gap=1),
            Cell(row.state, mark, 11, gap=1),
            Cell(unit.priority, ink.loud if unit.priority == "P0" else ink.muted, 2, gap=1),
            *([Cell(unit.lane, ink.muted, 14)] if wide else []),
            Cell(unit.title, text),
            Cell(f"{row.percent} %" if row.percent is not None else "", ink.text, 5, right=True),
            Cell(self.who(row), ink.accent if self.tasks.get(unit.id) else ink.muted, 22 if wide else 10),
        ]
        if wide:
            age = words.age(self.now - row.checkpoint_at) if row.checkpoint_at else ""
            cells.append(Cell(age, ink.muted, 6, right=True, gap=1))
        return line(width, cells)

    def heads(self, width: int) -> list[Segment]:
        """Return the headings, in the columns of `line`."""
        muted, wide = self.look.ink.muted, width >= _WIDE
        cells = [
            Cell("", muted, 1),
            Cell("unit", muted, 8, gap=1),
            Cell("state", muted, 11, gap=1),
            Cell("", muted, 2, gap=1),
            *([Cell("lane", muted, 14)] if wide else []),
            Cell("title", muted),
            Cell("done", muted, 5, right=True),
            Cell("who", muted, 22 if wide else 10),
            *([Cell("saved", muted, 6, right=True, gap=1)] if wide else []),
        ]
        return line(width, cells)

    def who(self, row: UnitRow) -> str:
        """Return who works on it: its tasks, else whoever claimed it."""
        if tasks := self.tasks.get(row.unit.id):
            first = f"{tasks[0].spec.role} {short_id(tasks[0].id)}"
            return f"{first} +{len(tasks) - 1}" if len(tasks) > 1 else first
        return row.unit.claimed_by if row.unit.status == "in_progress" else ""

    def more(self, row: UnitRow, width: int) -> list[Segment]:
        unit, sep = row.unit, f" {self.look.shapes.sep} "
        parts = [f"blocked: {unit.blocked_reason}" if unit.status == "blocked" else ""]
        parts += [f"waits for {', '.join(row.waits_for)}" if row.waits_for else ""]
        age = words.ago(self.now - row.checkpoint_at) if row.checkpoint_at else ""
        parts += [f"checkpoint {age}: {row.checkpoint}" if row.checkpoint else "no checkpoint yet"]
        parts += [f"accepted when: {'; '.join(unit.acceptance)}" if unit.acceptance else "no acceptance criteria"]
        text = sep.join(part for part in parts if part)
        return line(width, [Cell("", self.look.ink.muted, 8), Cell(text, self.look.ink.muted)])

    def words(self, row: UnitRow) -> str:
        unit = row.unit
        return f"{unit.id} {unit.title} {unit.lane} {row.state} {self.who(row)} {' '.join(unit.acceptance)}"

    def fields(self, row: UnitRow) -> dict[str, str]:
        unit = row.unit
        return {
            "id": unit.id,
            "lane": unit.lane,
            "state": row.state,
            "priority": unit.priority,
            "type": unit.type,
            "by": self.who(row),
            "age": f"{self.now - times.epoch(unit.created_at):.0f}",
        }


def _own_order(row: UnitRow) -> tuple[int, str]:
    return _STATES.index(row.state) if row.state in _STATES else len(_STATES), row.unit.priority


class UnitsScreen(UnitSheet[UnitRow, Sequence[UnitRow]]):
    """The work units that are not done; `at` is the one under the cursor at first."""

    SCOPE = "units"
    EMPTY = "No open work units. Promote a discovery, or write one: `lumen-tui wu new TITLE`."
    TWO_LINES = True

    def __init__(self, port: Port, snapshot: Snapshot, refusal: str = "", at: str = "") -> None:
        self._view: UnitRows | None = None
        super().__init__("Work units", port, snapshot, lambda: unit_rows(port.root, self._now), refusal)
        self._at, self._everything = at, False
        self._units: Sequence[UnitRow] = ()
        self._sorting: Sorting[UnitRow] = Sorting(
            "state",
            SortOrder("priority", lambda row: row.unit.priority, falling=False),
            SortOrder("lane", lambda row: row.unit.lane.casefold(), falling=False),
            SortOrder("last checkpoint", lambda row: row.checkpoint_at),
            SortOrder("number", lambda row: row.unit.id.rjust(12), falling=False),
        )

    def body(self) -> ComposeResult:
        yield Lines(lambda width, _: [self._view.heads(width)] if self._view is not None else [], classes="heads")
        yield from super().body()

    def rows_view(self) -> UnitRows:
        self._view = UnitRows(appearance_of(self.app), self._now)
        self._view.tasks = working_on(self.snapshot.tasks)
        return self._view

    def keys(self) -> Keys:
        return (*super().keys()[:-1], *self.offer("sort", "units_all", "undo", "back"))

    def unit(self) -> Tracked | None:
        return self.rows.selected.unit if self.rows.selected is not None else None

    def why_open(self) -> str:
        """As on its page, where a disproved acceptance is seen, and finishing it all the same asks for a reason."""
        row = self.rows.selected if self.is_mounted else None
        if row is None or not row.not_accepted:
            return super().why_open()
        task, page = key_of(self, "new_task"), key_of(self, "open")
        return f"{row.not_accepted}; {task} has a worker mend it, {page} shows what failed"

    def on_line_list_highlighted(self, _event: LineList.Highlighted) -> None:
        self.query_one(KeysLine).show(self.keys())

    def show(self, snapshot: Snapshot) -> None:
        if self._view is not None:
            self._view.tasks = working_on(snapshot.tasks)
        super().show(snapshot)

    def _loaded(self, units: Sequence[UnitRow]) -> None:
        self._units = units
        self._fill()

    def _fill(self) -> None:
        units = self._units
        listed = sorted((row for row in units if self._everything or row.state != "done"), key=_own_order)
        counts = [f"{sum(row.state == state for row in units)} {state}" for state in _STATES]
        shown = [count for count in counts if not count.startswith("0 ")]
        by = f"by {self._sorting.name}" if self._sorting.name else ""
        fill(self, self._sorting.apply(listed), "Work units", " · ".join([*shown, by] if by else shown))
        if self._at and self.rows.select_key(self._at):
            self._at = ""

    def action_sort(self) -> None:
        """Go to the next order."""
        self.say(f"Sorted by {self._sorting.next()}.")
        self._fill()

    def action_all(self) -> None:
        """Show the units that are done as well, or leave them out."""
        self._everything = not self._everything
        self._fill()

    def opened(self, row: UnitRow) -> None:
        self.app.push_screen(UnitScreen(self._port, self.snapshot, row.unit.id, self._refusal))
