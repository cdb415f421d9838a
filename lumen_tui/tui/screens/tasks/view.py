"""One task as its detail draws it: the facts above, the events below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.segment import Segment
from textual.content import Content

from lumen_tui.model import ids, queueing, times
from lumen_tui.model.budget import own_words
from lumen_tui.model.humanize import humanize
from lumen_tui.model.queueing import QueueConditions
from lumen_tui.model.tasks import Status, TaskEvent, TaskView, without_echo
from lumen_tui.model.text import one_line, safe
from lumen_tui.tui import words
from lumen_tui.tui.kit.cells import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.rows_sheet import Rows
from lumen_tui.tui.kit.timestamps import date, limit_words
from lumen_tui.tui.theme import Look, Shapes

_WRONG = frozenset({Status.FAILED, Status.LOST})
_WANTS = frozenset({Status.STALLED, Status.WAITING, Status.RUNNING})
_SPOKEN = frozenset({"text", "note"})  # kinds whose text is the model's own words


class EventRow(NamedTuple):
    """An event and a name for it, by which the cursor finds it again."""

    name: str
    event: TaskEvent


def event_rows(events: Sequence[TaskEvent]) -> list[EventRow]:
    """The events, oldest first, named by their time and their place among those of the same time."""
    seen: Counter[str] = Counter()
    rows = []
    for event in without_echo(events):
        seen[event.at] += 1
        rows.append(EventRow(f"{event.at} {seen[event.at]}", event))
    return rows


class TailRows(Rows[EventRow]):
    """What was called or said, and when: in minutes and seconds of the run."""

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self.started = 0.0

    def key(self, row: EventRow) -> str:
        return row.name

    def line(self, row: EventRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, event = self.look.ink, row.event
        since = times.epoch(event.at) - self.started
        wrong = not event.ok or event.kind == "error"
        cells = (
            Cell(event.tool or event.kind, ink.bad if wrong else ink.muted, 12),
            Cell(self.look.shapes.gutter if event.text else " ", ink.accent if event.kind in _SPOKEN else ink.faint, 1),
            Cell(event.text, ink.strong if selected else ink.text, gap=1),
            Cell(times.clock(since) if self.started and since >= 0 else "", ink.muted, 7, right=True),
        )
        return line(width, cells)

    def words(self, row: EventRow) -> str:
        return one_line(f"{row.event.kind} {row.event.tool} {row.event.text}")


def status_words(view: TaskView, shapes: Shapes) -> Content:
    """The status by shape, word and colour."""
    if view.awaits_budget:
        return Content.assemble((f"{shapes.paused} waits for budget", "bold $room-accent"))
    style = "bold $room-bad" if view.status in _WRONG else "bold $room-accent" if view.status in _WANTS else "bold"
    return Content.assemble((f"{shapes.status[view.status]} {view.state}", style))


def task_facts(
    view: TaskView, now: float, shapes: Shapes, model: str = "", standing: QueueConditions = queueing.NOTHING_KNOWN
) -> list[Fact]:
    """Who does what with which limits, how it stands and what it cost."""
    return list(_facts(view, now, shapes, model, queueing.why(view, standing)))


def _facts(view: TaskView, now: float, shapes: Shapes, model: str, why: str) -> Iterator[Fact]:
    spec = view.spec
    yield "objective", one_line(spec.objective, 600)
    yield "status", status_words(view, shapes) + Content(f"  {_times(view, now)}")
    if why:
        yield "because", Content.assemble((safe(humanize(why)), "$room-bad" if view.status in _WRONG else ""))
    yield "by", _by(view, view.spec.model or model)
    if view.usage.tokens or view.usage.usd:
        yield "spent", f"{words.kilo(view.usage.tokens)} tokens · {words.money(view.usage.usd)}"
    yield from _terms(view)


def _by(view: TaskView, model: str) -> str:
    """`researcher (haiku) · offline: largest-files · attempt 2`; what is not known is left out."""
    role, model = one_line(view.spec.role, 64), one_line(model, 60)
    attempt = f"attempt {view.attempt}" if view.attempt > 1 else ""
    parts = [f"{role} ({model})" if model else role, one_line(view.brain, 80), attempt]
    return " · ".join(part for part in parts if part)


def no_result(view: TaskView | None) -> str:
    """What stands where the result would."""
    if view is None:
        return ""
    if view.status.ended:
        return f"No result: {view.status.value}."
    return "No result yet: the worker writes it at its end."


def _terms(view: TaskView) -> Iterator[Fact]:
    spec = view.spec
    if spec.constraints:
        yield "within", " · ".join(one_line(text, 200) for text in spec.constraints)
    place = [one_line(text, 100) for text in (spec.priority, spec.lane, spec.wu_id) if text]
    if spec.timeout_seconds:
        place.append(f"at most {limit_words(spec.timeout_seconds)}")
    if most := own_words(spec.budget):
        place.append(f"at most {most}")
    if spec.retry_of:
        place.append(f"retry of {one_line(ids.short(spec.retry_of), 64)}")
    yield "task", " · ".join([spec.id, *place])


def _times(view: TaskView, now: float) -> str:
    if not view.started:
        asked = times.epoch(view.spec.created_at)
        return f"asked for {words.ago(now - asked)}" if asked and now else ""
    if view.finished:
        return f"ran {times.span(view.finished - view.started)} · ended {date(view.finished)}"
    if not now:
        return f"started {date(view.started)}"
    silent = now - view.last_event if view.last_event else 0.0
    quiet = f" · silent for {times.clock(silent)}" if view.status is Status.STALLED else ""
    return f"runs for {times.clock(now - view.started)} · started {date(view.started)}{quiet}"
