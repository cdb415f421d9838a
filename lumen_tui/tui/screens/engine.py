"""Screens about the engine: pause and quit dialogs, the event log, and the problems of the state folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from rich.segment import Segment
from textual.content import Content
from textual.widget import Widget

from lumen_tui.engine.port import Port
from lumen_tui.model import times
from lumen_tui.model.loop import EngineEvent, event_line, went_wrong
from lumen_tui.model.problem import Problem
from lumen_tui.model.requests.engine import PauseAgent, ResumeAgent
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import humanize, one_line
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.fields import Choice, TextField
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.questions import Menu, Option
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row
from lumen_tui.tui.kit.sheets import ListSheet, LoadedSheet, ReadingScreen, Rows, fill

PAUSE, RESUME = "pause", "resume"
_DO = ((PAUSE, "pause"), (RESUME, "resume"))
_AFTER = (("task", "finish their task"), ("step", "stop after this step"), ("now", "stop now"))
_LONGEST = 366 * times.DAY


class PauseForm(FormScreen[PauseAgent | ResumeAgent]):
    """Answers with the request to pause or to go on. `scopes` are its targets, with a name each."""

    SEND = "apply"

    def __init__(self, scopes: Sequence[tuple[str, str]]) -> None:
        super().__init__("Pause")
        self._scopes = [(target, one_line(name, 40)) for target, name in scopes]

    def rows(self) -> Iterable[Widget]:
        yield row("what", Choice(self._scopes, id="target"))
        yield row("do", Choice(_DO, id="verb"))
        yield row("workers", Choice(_AFTER, id="after"))
        yield row("for", TextField(placeholder="such as 2h; empty: until resumed", id="for"))
        yield row("reason", TextField(placeholder="why, for everybody to see", id="reason"))

    def preview(self) -> Content:
        name = dict(self._scopes)[self._of("target")]
        if self._of("verb") == RESUME:
            return Content(f"{name} goes on.")
        scope = {"loop": "The main agent starts no new loop; workers continue.", "": "Nothing new starts."}
        return Content(scope.get(self._of("target"), "The others continue."))

    def _of(self, field: str) -> str:
        return self.query_one(f"#{field}", Choice).value

    def read(self) -> PauseAgent | ResumeAgent:
        target, after = self._of("target"), self._of("after")
        if self._of("verb") == RESUME:
            return ResumeAgent(target=target)
        if _is_task(target) and after == "task":
            raise Invalid("One worker stops after this step, or now; c in the workers cancels its task.", "after")
        return PauseAgent(
            target=target,
            seconds=self._seconds(),
            reason=self.query_one("#reason", TextField).text,
            after=after if not target or _is_task(target) else "",
        )

    def _seconds(self) -> float:
        text = self.query_one("#for", TextField).text.replace(" ", "")
        try:
            seconds = times.parse_duration(text) if text else 0.0
        except ValueError as error:
            raise Invalid(str(error), "for") from error
        if text and not 1 <= seconds <= _LONGEST:
            raise Invalid("A pause lasts from 1s up to a year.", "for")
        return seconds


def _is_task(target: str) -> bool:
    return bool(target) and target != "loop" and not target.startswith("role:")


_KEEP = Option("quit_keep", "keep", help="the agent keeps running; any room can attach again")
_STOP = Option("quit_stop", "stop", help="workers keep running; the next engine takes them over")
_LEAVE = Option("quit_keep", "keep", "leave", "nothing stops")


class QuitAsk(Menu):
    """Answers `stop` or `keep`. Where the engine was started elsewhere there is nothing to stop."""

    SCOPE = "quit"

    def __init__(self, engine_started_here: bool) -> None:
        if engine_started_here:
            super().__init__("Leave the room", (_KEEP, _STOP), ("This room started the engine.",))
        else:
            super().__init__("Leave the room", (_LEAVE,), ("The engine was not started here and keeps running.",))


_LIMIT = 2000  # events that are read at most


class EventRows(Rows[EngineEvent]):
    """When, what kind, in words."""

    def key(self, row: EngineEvent) -> str:
        return f"{row.seq}:{row.at}"

    def line(self, row: EngineEvent, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        cells = (
            Cell(times.exact(times.epoch(row.at))[5:19], ink.muted, 14),
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

    SCOPE = "log"
    EMPTY = "No events yet: what the engine does is logged here."

    def __init__(self, port: Port, now: float) -> None:
        super().__init__("Log", now, lambda: port.events(_LIMIT)[::-1])

    def keys(self) -> Keys:
        return (*self.offer("log_needs"), *super().keys())

    def action_history(self) -> None:
        from lumen_tui.tui.screens.notifications import show_notifications

        show_notifications(self.app)

    def rows_view(self) -> EventRows:
        return EventRows(appearance_of(self.app))

    def _loaded(self, events: Sequence[EngineEvent]) -> None:
        fill(self, events, "Log", words.plural(len(events), "event"))

    def opened(self, row: EngineEvent) -> None:
        facts: list[Fact] = [("when", times.exact(times.epoch(row.at))), ("kind", row.kind), ("number", str(row.seq))]
        if row.task_id:
            facts.append(("task", row.task_id))
        more = ((name, json.dumps(value, ensure_ascii=False, default=str)) for name, value in row.data.items())
        facts += [(name, humanize(value)) for name, value in more]
        self.app.push_screen(ReadingScreen(f"Event {row.seq}", humanize(event_line(row)), facts))


class ProblemRows(Rows[Problem]):
    """The place and what is wrong there; the hint below the selected one."""

    def key(self, row: Problem) -> str:
        return f"{row.where}: {row.what}"

    def line(self, row: Problem, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        where = min(40, width * 2 // 5)
        return line(width, (Cell(row.where, ink.bad, where), Cell(row.what, ink.strong if selected else ink.text)))

    def more(self, row: Problem, width: int) -> list[Segment]:
        return line(width, (Cell(row.hint or "repair the file by hand; the rest of it is read", self.look.ink.muted),))

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
        """Take a newer snapshot."""
        count = len(snapshot.problems)
        heading = words.plural(count, "problem") if count else "No problems"
        fill(self, snapshot.problems, heading, one_line(snapshot.root, 60))

    def opened(self, row: Problem) -> None:
        facts = (("where", row.where), ("what to do", row.hint or "repair the file by hand"))
        self.app.push_screen(ReadingScreen(row.where, row.what, facts))
