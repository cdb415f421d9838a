"""Schedules: when each runs next and what became of its runs; made, run, paused and removed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec
from rich.segment import Segment
from textual.content import Content
from textual.widget import Widget

from lumen_tui.engine.port import Port
from lumen_tui.model import acceptance, ids, times
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.requests.schedules import AddSchedule, PauseSchedule, RemoveSchedule, ResumeSchedule, RunSchedule
from lumen_tui.model.schedule_runs import ScheduledRun, ScheduleView
from lumen_tui.model.schedules import MISSED, OVERLAP
from lumen_tui.model.text import safe
from lumen_tui.queries.schedule_views import first_time, made_words
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.fields import Choice, Offers, TextField
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row
from lumen_tui.tui.kit.sheets import LoadedSheet, ReadingScreen, Rows, act, chosen_row, fill
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.screens.task_form import CHECKS, PLACES, here

_NARROW = 90  # columns below which the text is left out
_GOALS = (("task", "a task"), ("signal", "a signal"), ("wake", "wake the agent"))
_EXAMPLES = ("0 9 * * 1-5", "every 90m", "in 2h")


class ScheduleRows(Rows[ScheduleView]):
    """Name, next run, rule, what it makes; below the selected one what became of its last run."""

    def key(self, row: ScheduleView) -> str:
        return row.schedule.id

    def line(self, row: ScheduleView, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, schedule = self.look.ink, row.schedule
        ahead = words.until(row.next - self.now) if row.next else "paused" if schedule.paused else "on trigger"
        cells = [
            Cell(schedule.name, ink.strong if selected else ink.text, min(24, width // 4)),
            Cell(ahead, ink.accent if schedule.paused else ink.loud if row.next else ink.muted, 10),
        ]
        if width < _NARROW:
            return line(width, [*cells, Cell(schedule.trigger_words, ink.text), Cell(schedule.makes, ink.muted, 7)])
        cells.append(Cell(schedule.trigger_words, ink.text, min(36, width // 3)))
        return line(width, [*cells, Cell(_goal(row), ink.muted, 16), Cell(schedule.text, ink.muted)])

    def more(self, row: ScheduleView, width: int) -> list[Segment]:
        ink, run = self.look.ink, next(iter(row.recent), None)
        text = f"{words.ago(self.now - run.due_at)}: {_outcome(run)}" if run else "it has not been due yet"
        return line(width, [Cell("", ink.muted, 2), Cell(text, ink.bad if run and _went_wrong(run) else ink.muted)])

    def words(self, row: ScheduleView) -> str:
        return f"{row.schedule.name} {row.schedule.trigger_words} {row.schedule.text} {row.schedule.id}"

    def fields(self, row: ScheduleView) -> dict[str, str]:
        schedule = row.schedule
        return {"makes": schedule.makes, "role": schedule.role, "by": schedule.created_by, "state": row.state}


def _goal(view: ScheduleView) -> str:
    return view.schedule.role if view.schedule.makes == "task" else dict(_GOALS)[view.schedule.makes]


def _went_wrong(run: ScheduledRun) -> bool:
    return str(run.state) in ("failed", "missed")


def _outcome(run: ScheduledRun) -> str:
    return (": " if run.why else " ").join(part for part in (str(run.state), made_words(run)) if part)


class ScheduleForm(FormScreen[AddSchedule]):
    """Answers with the request to make a schedule: by time, on changed files, on signals."""

    DEFAULT_CLASSES = "long"
    SEND = "add"

    def __init__(self, now: float, roles: Sequence[str]) -> None:
        super().__init__("New schedule")
        self._now, self._roles = now, roles

    def rows(self) -> Iterable[Widget]:
        yield row("name", TextField(placeholder="such as nightly-tests", id="name"))
        yield row("when", Offers(_EXAMPLES, id="when", placeholder="five cron fields, every 90m, at …, in 2h"))
        yield row("zone", TextField(placeholder="this machine's; such as Europe/Berlin", id="zone"))
        yield row("files", TextField(placeholder="or when these change, such as src/** *.md", id="on_change"))
        yield row("in", TextField(placeholder=f"{here()}, for files, checks and a worktree", id="folder"))
        yield row("signal", TextField(placeholder="or on a signal, such as kind:blocked from:agent-*", id="on_signal"))
        yield row("makes", Choice(_GOALS, id="makes"))
        yield row("role", Offers(self._roles, id="role", value="researcher"))
        yield row("text", Prose("", placeholder="What should be done?", sends=True, id="text"))
        yield row("works in", Choice(PLACES, id="isolate"))
        yield row("accept", Prose("", placeholder=CHECKS, id="accept"))
        yield row("missed", Choice([(word, word) for word in MISSED], "once", id="missed"))
        yield row("overlap", Choice([(word, word) for word in OVERLAP], "skip", id="overlap"))

    def preview(self) -> Content:
        asked = self._asked()
        if not (asked.when or asked.on_change or asked.on_signal):
            return Content("minute hour day-of-month month day-of-week")
        first, problem = first_time(asked, self._now)
        return Content(problem or (f"first {times.dated(first, self._now)}" if first else "on each of these"))

    def _line(self, name: str) -> str:
        return self.query_one(f"#{name}", TextField).text

    def _choice(self, name: str) -> str:
        return self.query_one(f"#{name}", Choice).value

    def read(self) -> AddSchedule:
        try:
            name = ids.check_name(self._line("name"), "name")
        except ids.BadId as error:
            raise Invalid(f"The {error}.", "name") from error
        asked = self._asked()
        try:
            acceptance.checked(asked.accept)
        except acceptance.BadCheck as error:
            raise Invalid(f"Accept: {error}.", "accept") from error
        if problem := first_time(asked, self._now)[1]:
            raise Invalid(problem, "when" if asked.when else "on_change" if asked.on_change else "on_signal")
        if not (asked.when or asked.on_change or asked.on_signal):
            raise Invalid("Say when: a time, files or a signal.", "when")
        if not asked.text:
            raise Invalid("Say what should be done.", "text")
        return msgspec.structs.replace(asked, name=name)

    def _asked(self) -> AddSchedule:
        """Return the request as far as it is typed."""
        return AddSchedule(
            name="",
            text=self.query_one("#text", Prose).typed,
            when=self._line("when"),
            zone=self._line("zone"),
            on_change=self._line("on_change").split(),
            folder=self._line("folder"),
            on_signal=self._line("on_signal").split(),
            makes=self._choice("makes"),
            role=self._line("role") or "researcher",
            isolate=self._choice("isolate"),
            accept=tuple(self.query_one("#accept", Prose).typed.splitlines()),
            missed=self._choice("missed"),
            overlap=self._choice("overlap"),
        )


class SchedulesScreen(LoadedSheet[ScheduleView, Sequence[ScheduleView]]):
    """The schedules in force, the next to run first."""

    SCOPE = "schedules"
    OF_ROWS = frozenset({"beat", "pause", "schedules_remove"})
    EMPTY = "No schedules yet: t makes one, by time, on changed files or on a signal."
    TWO_LINES = True

    def __init__(
        self,
        port: Port,
        now: float,
        read: Callable[[], Sequence[ScheduleView]],
        roles: Sequence[str],
        refusal: str = "",
    ) -> None:
        super().__init__("Schedules", now, read)
        self._port, self._roles, self._refusal = port, roles, refusal

    def rows_view(self) -> ScheduleRows:
        return ScheduleRows(appearance_of(self.app), self._now)

    def keys(self) -> Keys:
        acts = () if self._refusal else ("new_task", "beat", "pause", "schedules_remove", "undo")
        return (*self.offer(*acts), *super().keys())

    def _loaded(self, views: Sequence[ScheduleView]) -> None:
        paused = sum(view.schedule.paused for view in views)
        aside = f"{words.plural(len(views), 'schedule')}" + (f", {paused} paused" if paused else "")
        fill(self, list(views), "Schedules", aside)

    def _refused(self) -> bool:
        if self._refusal:
            self.say(self._refusal, bad=True)
        return bool(self._refusal)

    def _do(self, request: Request) -> None:
        self.run_worker(act(self, self._port, request), group="act")

    def _chosen(self) -> ScheduleView | None:
        return None if self._refused() else chosen_row(self)

    def action_add(self) -> None:
        if not self._refused():
            form = ScheduleForm(self._now, self._roles)
            self.app.push_screen(form, lambda request: self._do(request) if request else None)

    def action_run(self) -> None:
        if view := self._chosen():
            self._do(RunSchedule(name=view.schedule.id))

    def action_pause(self) -> None:
        if view := self._chosen():
            kind = ResumeSchedule if view.schedule.paused else PauseSchedule
            self._do(kind(name=view.schedule.id))

    def action_remove(self) -> None:
        if view := self._chosen():
            self._do(RemoveSchedule(name=view.schedule.id))

    def action_undo(self) -> None:
        if not self._refused():
            self._do(Undo())

    def opened(self, row: ScheduleView) -> None:
        self.app.push_screen(ReadingScreen(f"Schedule {row.schedule.name}", row.schedule.text, _facts(row, self._now)))


def _facts(view: ScheduleView, now: float) -> list[Fact]:
    schedule = view.schedule
    facts: list[Fact] = [
        ("runs", schedule.trigger_words),
        ("next", times.dated(view.next, now) if view.next else view.state),
        ("makes", _goal(view)),
        *([("accepted when", "; ".join(schedule.accept))] if schedule.accept else []),
        *([("folder", safe(schedule.folder))] if schedule.folder else []),
        ("missed", schedule.missed),
        ("overlap", schedule.overlap),
        ("made by", f"{schedule.created_by} ({schedule.source})"),
        ("id", schedule.id),
    ]
    facts += [("paused", schedule.pause_words)] if schedule.paused else []
    return facts + [("run", f"{times.dated(run.due_at, now)}: {_outcome(run)}") for run in view.recent]
