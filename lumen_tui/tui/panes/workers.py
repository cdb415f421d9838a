"""The workers: what runs, waits, failed or is done, and the last words of one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from lumen_tui.model import agent, ids, queueing, times
from lumen_tui.model.approvals import ASK
from lumen_tui.model.queueing import QueueConditions
from lumen_tui.model.snapshot import Revisions
from lumen_tui.model.task_cost import progress_of
from lumen_tui.model.tasks import WAITING_ON_YOU, Status, TaskEvent, TaskView, legible, live_ones, tally, tally_words
from lumen_tui.model.text import humanize, one_line
from lumen_tui.tui import words
from lumen_tui.tui.kit.held import Held
from lumen_tui.tui.kit.keys import bindings
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import GAP, Cell, Lines, line, sign, wrap
from lumen_tui.tui.panes.base import Detail, Heads, Pane, in_order, place_of, sorted_by
from lumen_tui.tui.panes.sorting import Sorting, SortOrder
from lumen_tui.tui.room_command import WORKERS
from lumen_tui.tui.theme import Ink, Shapes

_SUCH_AS = "the 5 largest files in /usr/lib"
_TAIL_FROM = 7  # lines of the pane from which the last words have room
_TAIL_WANTED = 5  # lines of them beside the list
_WHEN = 8  # cells of the time behind a line of them
_AROUND_WORDS = 4 + 1 + _WHEN + 2 * GAP + 1  # cells of such a line beside its text
_ID, _ROLE, _MODEL = 4, 10, 7
_MODEL_FROM, _MODEL_FROM_ZOOMED, _STARTED_FROM = 68, 100, 90  # cells of a row
_TURN, _STEP = 2.5, 5.0  # seconds between two looks of the sign that turns, and of a time that runs
_TALK = 10.0  # seconds between two looks of a running task's last words: each new line moves all of them
_ENDED_BADLY = (Status.FAILED, Status.LOST)
_LOUD = (WAITING_ON_YOU, "stalled", "failed", "lost")


class TaskRows:
    """How a task is drawn in the list."""

    def __init__(self, pane: WorkersPane) -> None:
        self._pane = pane

    def key(self, row: TaskView) -> str:
        return row.id

    def line(self, row: TaskView, width: int, selected: bool, marked: bool) -> list[Segment]:
        look = self._pane.look
        ink = look.ink
        right, right_style = outcome(row, self._pane.now, ink, self._pane.snapshot.standing)
        body = _body_style(row.status, selected, ink)
        style = shape_style(row.status, ink)
        cells = [Cell(shape_of(row, look.shapes), style, look.shapes.size)]
        cells.append(Cell(short_id(row.id), ink.muted, _ID, gap=1))
        if width >= 48:
            cells.append(Cell(row.spec.role, ink.muted if row.status.ended else ink.text, _ROLE))
        if width >= _model_from(self._pane):
            cells.append(Cell(self._pane.model_of(row), ink.muted, _MODEL, gap=1))
        if row.status in _ENDED_BADLY and self._pane.tells(row):
            right = str(row.status)  # its last words, below the list, are the reason
        objective = words.short_paths(row.spec.objective)
        cells.append(Cell(words.held(self._pane.snapshot.operators, row.id, objective), body))
        if self._pane.zoomed:
            cells += _more_cells(_more_of(row), width, ink.muted)
        if self._pane.zoomed and row.status is Status.DONE:
            right = _took(row)  # the cost has a column of its own
        size = _TIME if self._pane.zoomed else min(len(right), max(9, width // 4))
        turns = look.shapes.spin if row.status is Status.RUNNING and not row.reason else ""
        if turns and self._pane.zoomed:
            size -= 2
        if turns:  # in a piece of its own, so that a second repaints it and the time alone
            cells.append(Cell(turns[int(self._pane.now / _TURN) % len(turns)], ink.good, 1))
        cells.append(Cell(right, right_style, size, right=True, gap=1 if turns else GAP))
        return line(width, cells)

    def more(self, row: TaskView, width: int) -> list[Segment]:
        return line(width, [Cell(humanize(queueing.why(row, self._pane.snapshot.standing)), self._pane.look.ink.muted)])

    def words(self, row: TaskView) -> str:
        model, spec = self._pane.model_of(row), row.spec
        return f"{row.id} {spec.role} {model} {row.status} {row.state} {spec.objective} {row.reason}"

    def fields(self, row: TaskView) -> Mapping[str, str]:
        spec = row.spec
        return {
            "id": row.id, "role": spec.role, "model": self._pane.model_of(row), "status": str(row.status),
            "wu": spec.wu_id, "lane": spec.lane, "by": spec.created_by, "priority": spec.priority,
        }  # fmt: skip


_ATTEMPT, _STARTED, _TOKENS, _COST, _TIME = 3, 8, 7, 7, 14  # cells of a zoomed list


def _more_cells(texts: tuple[str, str, str, str], width: int, style: Style) -> list[Cell]:
    """Return what only a zoomed list has room for: attempt, start, tokens, cost, as far as the objective has room."""
    attempt, started, tokens, cost = texts
    cells = [Cell(attempt, style, _ATTEMPT, right=True, gap=1)]
    if width >= _STARTED_FROM:
        cells.append(Cell(started, style, _STARTED, right=True, gap=1))
    return [*cells, Cell(tokens, style, _TOKENS, right=True, gap=1), Cell(cost, style, _COST, right=True, gap=1)]


def _model_from(pane: WorkersPane) -> int:
    """Return the cells from which a row names its model."""
    return _MODEL_FROM_ZOOMED if pane.zoomed else _MODEL_FROM


def _more_of(row: TaskView) -> tuple[str, str, str, str]:
    return (
        str(row.attempt or ""),
        times.iso(row.started)[11:19] if row.started else "",
        words.kilo(tokens) if (tokens := _tokens(row)) else "",
        words.money(usd) if (usd := _cost(row)) else "",
    )


def _tokens(row: TaskView) -> int:
    """Return what a task used so far: until it has ended, its last model call tells."""
    return row.usage.tokens if row.status.ended else row.usage.tokens or progress_of(row.tail).tokens


def _cost(row: TaskView) -> float:
    """Return what a task cost so far, in dollars."""
    return row.usage.usd if row.status.ended else row.usage.usd or progress_of(row.tail).usd


def short_id(task_id: str) -> str:
    """Return what names a task in a few cells: `7f2k`, `L124` for a loop's session, `C7` for a turn of the chat."""
    loop, turn = agent.loop_of(task_id), agent.turn_of(task_id)
    return f"L{loop}" if loop else f"C{turn}" if turn else ids.short(task_id)


def shape_of(row: TaskView, shapes: Shapes) -> str:
    """Return the shape of a task's state; one that waits for budget asks nobody and rests."""
    if row.awaits_budget:
        return shapes.paused
    if row.status in (Status.WAITING, Status.ASKING):
        return shapes.status[Status.ASKING if _asks_question(row) else Status.WAITING]
    return shapes.status[row.status]


def shape_style(status: Status, ink: Ink) -> Style:
    """Return the colour of a state's shape."""
    if status in (Status.FAILED, Status.LOST):
        return ink.bad
    return ink.accent if status.alive else ink.muted


def _body_style(status: Status, selected: bool, ink: Ink) -> Style:
    if selected:
        return ink.strong
    settled = status in (Status.DONE, Status.CANCELLED, Status.QUEUED)
    return ink.muted if settled else ink.text


def outcome(
    row: TaskView, now: float, ink: Ink, standing: QueueConditions = queueing.NOTHING_KNOWN
) -> tuple[str, Style]:
    """Return what stands at the end of a task's line."""
    if row.awaits_budget:
        return f"waits for budget  {times.clock(now - row.last_event)}", ink.accent
    if row.status in (Status.WAITING, Status.ASKING):
        word = "question" if _asks_question(row) else "approval"
        return f"{word}  {times.clock(now - row.last_event)}", ink.loud
    if row.status is Status.RUNNING:
        held = "waits  " if row.reason else ""  # for a model's servers, or between two steps: its last words say it
        return f"{held}{running_time(row, now)}", ink.accent if held else ink.text
    if row.status is Status.STALLED:
        return f"silent {times.clock(now - (row.last_event or row.started))}", ink.accent
    if row.status is Status.QUEUED:
        return next((one.short for one in queueing.waits(row, standing)), "queued"), ink.muted
    if row.status in _ENDED_BADLY:
        return one_line(humanize(row.reason), 60) or str(row.status), ink.bad
    if row.status is Status.CANCELLED:
        return "cancelled", ink.muted
    return f"{_took(row)}{words.money(row.usage.usd):>8}" if row.usage.usd else _took(row), ink.muted


def _asks_question(row: TaskView) -> bool:
    """Return whether it waits for an answer rather than for leave to make a call."""
    return any(event.tool == ASK for event in row.tail[-1:])


def running_time(row: TaskView, now: float) -> str:
    """Return for how long a task has run, as of the last multiple of a few seconds: those of all tasks move at once."""
    return times.clock(max(0.0, now // _STEP * _STEP - row.started))


def _took(row: TaskView) -> str:
    return times.span(row.finished - row.started) if row.finished and row.started else ""


def shown_task(rows: LineList[TaskView]) -> TaskView | None:
    """The task whose last words stand below the list: the selected one; without the focus, else one that runs."""
    model = rows.model
    if rows.has_focus:
        return model.selected
    if model.cursor and (selected := model.selected) is not None and selected.tail:
        return selected
    first = [model.row(index) for index in range(min(len(model), 20))]
    return next((row for row in first if row.status.alive and row.tail), first[0] if first else None)


Said = list[tuple[TaskEvent, str]]


def _last_words(task: TaskView | None, width: int) -> Said:
    """Return the lines that stand below the list of one task, each with its event; what the model says is wrapped."""
    lines: Said = []
    for event in legible(task.tail) if task is not None else ():
        if event.kind == "text":
            lines += [(event, text) for text in wrap(event.text, width - _AROUND_WORDS)]
        else:
            named = event.kind != "call" or event.text.startswith(event.tool)
            lines.append((event, event.text if named else f"{event.tool} {event.text}"))
    return lines


def _held_words(held: Held[Said], task: TaskView | None, width: int, now: float) -> Said:
    """Return the last words of a task on `width` cells; those of one that talks on are held for a while."""
    talks = task is not None and task.status is Status.RUNNING and len(task.tail) > 1
    about = (task.id, task.reason, width) if task is not None and talks else object()
    return held.of(about, now, lambda: _last_words(task, width))


class WorkersPane(Pane):
    """Pane 3."""

    scope, number, name_shown = WORKERS, 3, "Workers"
    BINDINGS: ClassVar[list[BindingType]] = bindings(WORKERS, "screen.do")

    def __init__(self) -> None:
        super().__init__()
        self._list: LineList[TaskView] = LineList(TaskRows(self), empty=self.nothing_shown)
        self._tail = Lines(self._tail_lines, id="tail")
        self.sorting = Sorting(
            "state",
            SortOrder("started", lambda row: row.started),
            SortOrder("tokens", _tokens),
            SortOrder("cost", _cost),
            SortOrder("role", lambda row: row.spec.role, falling=False),
        )
        self._said: Held[Said] = Held(_TALK)
        self._counts: Counter[str] = Counter()
        self._tiers: dict[str, str] = {}  # by role

    def compose(self) -> ComposeResult:
        yield Heads(self)
        yield self._list
        yield self._tail

    def empty_words(self) -> str:
        return f"No tasks yet. {self.key('new_task')} gives a worker something to do, such as: {_SUCH_AS}"

    def rows_wanted(self) -> int:
        """Return the rows of the tasks, and of the last words of one of them."""
        said = any(row.status.alive and row.tail for row in live_ones(self.snapshot.tasks))
        return len(self.snapshot.tasks) + (_TAIL_WANTED if said else 0)

    def empty_line(self) -> str:
        return f"none; {self.key('new_task')} gives one"

    def revision(self, revisions: Revisions) -> object:
        return revisions.tasks, revisions.roles

    def fill(self) -> None:
        tasks = self.snapshot.tasks
        self._counts = tally(tasks)
        self._tiers = {role.name: role.tier for role in self.snapshot.roles}
        self._list.set_rows(in_order(self, tasks))

    def model_of(self, row: TaskView) -> str:
        """Return the model or tier a task asks for, else its role's tier."""
        return row.spec.model or self._tiers.get(row.spec.role, "")

    def tells(self, row: TaskView) -> bool:
        """Return whether the last words of a task stand below the list."""
        task = shown_task(self._list) if self._tail.display else None
        return task is not None and task.id == row.id

    def tick(self, now: float) -> None:
        super().tick(now)
        self._fit_tail()
        self._tail.redraw()

    def on_resize(self) -> None:
        self._fit_tail()

    def _fit_tail(self) -> None:
        """Give the last words a rule and as many lines as there are, at most a third of the pane."""
        task = shown_task(self._list)
        said = len(
            _held_words(self._said, task, self._tail.content_size.width or self.content_size.width - 2, self.now)
        )
        lines = (
            min(said, max(2, -(-self.content_size.height // 3) - 1)) if self.content_size.height >= _TAIL_FROM else 0
        )
        self._tail.display = lines > 0
        if lines and (wanted := lines + 1) != self._tail.size.height:
            self._tail.styles.height = wanted

    @on(LineList.Highlighted)
    def moved(self, event: LineList.Highlighted) -> None:
        """Show the last words of the task under the cursor."""
        self._fit_tail()
        self._tail.redraw()
        self.recaption()
        self.tell(event)

    def subtitle_words(self) -> str:
        if self._list.marks.keys or self._list.filter_text:
            return place_of(self._list, "tasks")
        done = f"{words.number(len(self.snapshot.tasks))} done" if self.snapshot.tasks else ""
        return " · ".join(part for part in (*tally_words(self._counts), sorted_by(self)) if part) or done

    def heads(self, width: int) -> list[Segment]:
        """Return the headings, in the columns of `TaskRows.line` between its edges."""
        muted = self.look.ink.muted
        cells = [Cell("", muted, self.look.shapes.size), Cell("task", muted, _ID, gap=1), Cell("role", muted, _ROLE)]
        cells += [Cell("model", muted, _MODEL, gap=1)] if width >= _model_from(self) else []
        cells += [Cell("objective", muted), *_more_cells(("try", "started", "tokens", "cost"), width, muted)]
        cells.append(Cell("time", muted, _TIME, right=True))
        return line(width, cells)

    def short(self) -> tuple[str, bool]:
        loud = any(self._counts[name] for name in _LOUD)
        return self.subtitle_words() or "no tasks yet", loud

    def detail(self) -> Detail | None:
        row = self._list.selected
        if row is None:
            return None
        spec, status = row.spec, queueing.why(row, self.snapshot.standing)
        if not status.startswith(row.state):
            status = f"{row.state}  {status}".strip()
        facts = (
            ("status", status), ("role", spec.role),
            ("model", spec.model or "the role's own"), ("priority", spec.priority), ("by", spec.created_by),
            ("work unit", spec.wu_id), ("lane", spec.lane), ("attempt", str(row.attempt or "")), ("ran on", row.brain),
            ("tokens", words.number(_tokens(row))), ("used", progress_of(row.tail).words()),
            ("after", ", ".join(row.waits_for)),
            ("retry of", spec.retry_of),
        )  # fmt: skip
        rules = "".join(f"\n- {constraint}" for constraint in spec.constraints)
        said = "".join(f"\n{event.text}" for event in row.tail)
        return Detail(row.id, facts, f"{spec.objective}\n{rules}\n{said}")

    def _tail_lines(self, width: int, height: int) -> list[list[Segment]]:
        look = self.look
        task = shown_task(self._list)
        rule = [Segment(look.shapes.rule * width, look.ink.faint)]
        words = _held_words(self._said, task, width, self.now)[-(height - 1) :] if height > 1 else []
        if task is None or not words:
            return [[Segment(" " * width, look.ink.text)]]
        lines = [rule[:1]]
        for index, (event, text) in enumerate(words):
            lines.append(self._tail_line(task, event, text, width, first=index == 0))
        return lines

    def _tail_line(self, task: TaskView, event: TaskEvent, text: str, width: int, *, first: bool) -> list[Segment]:
        ink, shapes = self.look.ink, self.look.shapes
        at = times.epoch(event.at)
        when = times.clock(at - task.started) if at and task.started else ""
        cells = [
            Cell(short_id(task.id) if first else "", ink.muted, 4),
            sign(shapes.quotes, ink.accent),
            Cell(text or event.kind, ink.text if event.ok else ink.bad),
            Cell(when, ink.muted, _WHEN, right=True, gap=1),
        ]
        return line(width, cells)
