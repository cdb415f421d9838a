"""The work units below the panes of the left column: what is under way and how far, and how many wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rich.segment import Segment
from textual.app import ComposeResult
from textual.content import Content

from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import Status
from lumen_tui.model.work import WorkUnit
from lumen_tui.tui.kit.lines import Cell, Lines, line, sign
from lumen_tui.tui.panes.base import PaneFrame
from lumen_tui.tui.shares import EMPTY
from lumen_tui.tui.theme import Appearance

_MOST = 3  # units under way that have a line
_FRAME = 2
_LANE_FROM = 40  # cells from which a line names the lane
STATES = {"in_progress": "under way", "ready": "ready", "blocked": "blocked"}


def under_way(snapshot: Snapshot) -> list[WorkUnit]:
    """Return the units in progress, the most urgent first."""
    return sorted((unit for unit in snapshot.work if unit.status == "in_progress"), key=lambda unit: unit.priority)


def counted(snapshot: Snapshot, states: Mapping[str, str] = STATES) -> str:
    """Return `1 under way · 3 ready`; empty where no unit is in such a state."""
    counts = Counter(unit.status for unit in snapshot.work)
    return " · ".join(f"{counts[state]} {name}" for state, name in states.items() if counts[state])


def strip_lines(snapshot: Snapshot, width: int, look: Appearance) -> list[list[Segment]]:
    """Return the units under way, then how many others there are."""
    ink, shapes, going = look.ink, look.shapes, under_way(snapshot)
    lines = []
    for unit in going[:_MOST]:
        percent = snapshot.work_percent.get(unit.id)
        cells = [
            sign("under way" if look.spoken else shapes.status[Status.RUNNING], ink.good),
            Cell(unit.id, ink.text, 8, gap=1),
            *([Cell(unit.lane, ink.muted, 6, gap=1)] if width >= _LANE_FROM and unit.lane else []),
            Cell(unit.title, ink.text, gap=1),
            Cell(f"{percent} %" if percent is not None else "", ink.text, 5, right=True, gap=1),
        ]
        lines.append(line(width, cells))
    others = {state: name for state, name in STATES.items() if state != "in_progress"}
    more = f"+{len(going) - _MOST} under way" if len(going) > _MOST else ""
    text = " · ".join(part for part in (more, counted(snapshot, others)) if part)
    if text:
        mark = sign("" if look.spoken else shapes.status[Status.QUEUED], ink.muted)
        lines.append(line(width, [mark, Cell(text, ink.muted, gap=1)]))
    return lines


class UnitsStrip(PaneFrame):
    """Shows what `show` gives it; a click opens the list."""

    scope, name_shown = "units", "Work units"

    def __init__(self) -> None:
        super().__init__()
        self._lines = Lines(self._build, id="units-lines")
        self.display = False
        self.border_title = Content(self.name_shown)

    def compose(self) -> ComposeResult:
        yield self._lines

    def show(self, snapshot: Snapshot, *, low: bool) -> int:
        """Show other units; return the lines that it takes: none without an open unit, one where lines are few."""
        self.snapshot = snapshot
        lines = EMPTY if low else len(strip_lines(snapshot, 0, self.look)) + _FRAME
        self.set_class(low, "-empty")
        if lines != self.lines_given:
            self.lines_given = lines
            self.styles.height = lines
        self.caption(f"{self.name_shown} · {counted(snapshot)}" if low else self.name_shown, "" if low else self._all())
        self._lines.redraw()
        return lines if counted(snapshot) else 0

    def _all(self) -> str:
        return f"{self.key('units')} all"

    def _build(self, width: int, _height: int) -> list[list[Segment]]:
        return strip_lines(self.snapshot, width, self.look)

    async def on_click(self) -> None:
        """Open the list of all."""
        await self.run_action("screen.do('units')")
