"""What the engine did, newest first."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.segment import Segment

from lumen_tui.engine.port import Port
from lumen_tui.model import times
from lumen_tui.model.humanize import humanize
from lumen_tui.model.loop import EngineEvent, event_line, went_wrong
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.kit.cells import Cell, line
from lumen_tui.tui.kit.loaded_sheet import LoadedSheet
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.reader import ReadingScreen
from lumen_tui.tui.kit.rows_sheet import Rows, appearance_of
from lumen_tui.tui.kit.timestamps import date

_LIMIT = 2000  # events that are read at most


class EventRows(Rows[EngineEvent]):
    """When, what kind, in words."""

    def key(self, row: EngineEvent) -> str:
        return f"{row.seq}:{row.at}"

    def line(self, row: EngineEvent, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        cells = (
            Cell(date(times.epoch(row.at))[5:19], ink.muted, 14),
            Cell(row.kind, ink.bad if went_wrong(row) else ink.muted, 16),
            Cell(humanize(event_line(row)), ink.strong if selected else ink.text),
        )
        return line(width, cells)

    def words(self, row: EngineEvent) -> str:
        return one_line(f"{row.at} {row.kind} {row.task_id} {event_line(row)}")

    def fields(self, row: EngineEvent) -> dict[str, str]:
        return {"kind": row.kind, "task": row.task_id}


class LogScreen(LoadedSheet[EngineEvent, Sequence[EngineEvent]]):
    """The engine's events; enter shows one in full."""

    EMPTY = "Nothing yet: the engine writes here what it does."

    def __init__(self, port: Port, now: float) -> None:
        super().__init__("Log", now, lambda: port.events(_LIMIT)[::-1])

    def rows_view(self) -> EventRows:
        return EventRows(appearance_of(self.app))

    def _loaded(self, events: Sequence[EngineEvent]) -> None:
        self.fill(events, "Log", words.plural(len(events), "event"))

    def opened(self, row: EngineEvent) -> None:
        facts: list[Fact] = [("when", date(times.epoch(row.at))), ("kind", row.kind), ("number", str(row.seq))]
        if row.task_id:
            facts.append(("task", row.task_id))
        more = ((name, json.dumps(value, ensure_ascii=False, default=str)) for name, value in row.data.items())
        facts += [(name, humanize(value)) for name, value in more]
        self.app.push_screen(ReadingScreen(f"Event {row.seq}", humanize(event_line(row)), facts))
