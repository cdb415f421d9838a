"""One task in full: the facts, the transcript as it grows, and the result."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from lumen_tui.engine.port import Port, TaskDetail
from lumen_tui.model import ids, queueing, times
from lumen_tui.model.acceptance import Finding
from lumen_tui.model.budget import dollars, own_words
from lumen_tui.model.queueing import QueueConditions
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.tasks import CancelTask
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.task_cost import NOTHING_SPENT, Progress, TaskCost
from lumen_tui.model.tasks import Status, TaskView
from lumen_tui.model.text import humanize, one_line, safe
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of, host_of
from lumen_tui.tui.kit import editor, jobs
from lumen_tui.tui.kit.keys import KeysLine
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Cell, ScrolledLines, edge_title, line
from lumen_tui.tui.kit.parts import Fact, Facts, StatusLine, markdown_lines
from lumen_tui.tui.kit.screen import DetailScreen, Keys
from lumen_tui.tui.kit.sheets import ReadingScreen
from lumen_tui.tui.screens import steering
from lumen_tui.tui.screens.questions import QuestionForm, waits_for
from lumen_tui.tui.screens.task_form import retry
from lumen_tui.tui.screens.task_transcript import TranscriptView
from lumen_tui.tui.theme import Shapes

_WRONG = frozenset({Status.FAILED, Status.LOST})
_WANTS = frozenset({Status.STALLED, Status.WAITING, Status.RUNNING})


def status_words(view: TaskView, shapes: Shapes) -> Content:
    """Return the status by shape, word and colour."""
    if view.awaits_budget:
        return Content.assemble((f"{shapes.paused} waits for budget", "bold $room-accent"))
    style = "bold $room-bad" if view.status in _WRONG else "bold $room-accent" if view.status in _WANTS else "bold"
    mark = shapes.status[view.status]
    return Content.assemble((view.outcome if view.outcome.startswith(mark) else f"{mark} {view.outcome}", style))


def task_facts(
    view: TaskView,
    now: float,
    shapes: Shapes,
    model: str = "",
    standing: QueueConditions = queueing.NOTHING_KNOWN,
    cost: TaskCost = NOTHING_SPENT,
) -> list[Fact]:
    """Who does what with which limits, how it stands and what it cost."""
    return list(_facts(view, now, shapes, model, queueing.why(view, standing), cost))


def _facts(view: TaskView, now: float, shapes: Shapes, model: str, queue_reason: str, cost: TaskCost) -> Iterator[Fact]:
    spec = view.spec
    yield "objective", one_line(spec.objective, 600)
    yield "status", status_words(view, shapes) + Content(f"  {_times(view, now)}")
    if queue_reason:
        yield "because", Content.assemble((safe(humanize(queue_reason)), "$room-bad" if view.status in _WRONG else ""))
    if spec.accept:
        yield "accept", _checks(view, shapes)
    yield "by", _by(view, view.spec.model or model)
    if cost.calls:
        yield "spent", cost.words().replace(", ", " · ")
        if used := gauges(cost.progress, shapes):
            yield "used", used
    elif view.usage.tokens or view.usage.usd:
        yield "spent", f"{words.kilo(view.usage.tokens)} tokens · {words.money(view.usage.usd)}"
    yield from _terms(view)


def gauges(progress: Progress, shapes: Shapes) -> str:
    """Return what was used of each limit, with a bar; what has no limit is left out."""
    shares = (
        (progress.steps, progress.most_steps, f"{progress.steps:,} of {progress.most_steps:,} steps"),
        (
            progress.seconds,
            progress.most_seconds,
            f"{times.clock(progress.seconds)} of {times.limit(progress.most_seconds)}",
        ),
        (
            progress.usd,
            progress.most_usd,
            f"{dollars(progress.usd, progress.most_usd)} of {dollars(progress.most_usd)}",
        ),
        (
            progress.tokens,
            progress.most_tokens,
            f"{words.kilo(progress.tokens)} of {words.kilo(progress.most_tokens)} tokens",
        ),
        (progress.filled, progress.window, f"{words.kilo(progress.filled)} of {words.kilo(progress.window)} window"),
    )
    return f" {shapes.sep} ".join(f"{shapes.gauge(part / most, _BAR)} {text}" for part, most, text in shares if most)


def _checks(view: TaskView, shapes: Shapes) -> Content:
    """Each check; once it was run with a mark of what was found."""
    found = {result.check: result for result in view.acceptance.results} if view.acceptance else {}
    lines = []
    for text in view.spec.accept:
        result = found.get(text)
        mark = f"{_mark(result.finding, shapes)} " if result else ""
        style = "$room-bad" if result and result.finding is Finding.FAILS else ""
        lines.append(Content.assemble((mark + one_line(result.text if result else text, 400), style)))
    if view.acceptance is not None and view.acceptance.why:
        lines.append(Content(one_line(view.acceptance.why, 300)))
    return Content("\n").join(lines)


def _mark(finding: Finding, shapes: Shapes) -> str:
    status = {Finding.HOLDS: Status.DONE, Finding.FAILS: Status.FAILED, Finding.UNKNOWN: Status.LOST}[finding]
    return shapes.status[status]


def _by(view: TaskView, model: str) -> str:
    """`researcher (haiku) · offline: largest-files · attempt 2`; what is not known is left out."""
    role, model = one_line(view.spec.role, 64), one_line(model, 60)
    attempt = f"attempt {view.attempt}" if view.attempt > 1 else ""
    parts = [f"{role} ({model})" if model else role, one_line(view.brain, 80), attempt]
    return " · ".join(part for part in parts if part)


def no_result(view: TaskView | None) -> str:
    """Return what stands where the result would."""
    if view is None:
        return ""
    if view.status.ended:
        return f"No result: {view.status.value}."
    return "No result yet: the worker writes it at the end."


def _terms(view: TaskView) -> Iterator[Fact]:
    spec = view.spec
    if spec.constraints:
        yield "within", " · ".join(one_line(text, 200) for text in spec.constraints)
    place = [one_line(text, 100) for text in (spec.priority, spec.lane, spec.wu_id) if text]
    if spec.steps:
        place.append(f"at most {spec.steps:,} tool calls")
    if spec.timeout_seconds:
        place.append(f"at most {times.limit(spec.timeout_seconds)}")
    if most := own_words(spec.budget):
        place.append(f"at most {most}")
    if spec.parent:
        place.append(f"sub-task of {one_line(ids.short(spec.parent), 64)}")
    if spec.retry_of:
        place.append(f"retry of {one_line(ids.short(spec.retry_of), 64)}")
    yield "task", " · ".join([spec.id, *place])


def _times(view: TaskView, now: float) -> str:
    if not view.started:
        created = times.epoch(view.spec.created_at)
        return f"asked for {words.ago(now - created)}" if created and now else ""
    if view.finished:
        return f"ran {times.span(view.finished - view.started)} · ended {times.exact(view.finished)}"
    if not now:
        return f"started {times.exact(view.started)}"
    silent = now - view.last_event if view.last_event else 0.0
    quiet = f" · silent for {times.clock(silent)}" if view.status is Status.STALLED else ""
    return f"runs for {times.clock(now - view.started)} · started {times.exact(view.started)}{quiet}"


def _said(detail: TaskDetail, now: float) -> Iterator[Fact]:
    """What it asks, the skills that it read, and what was said to it."""
    if detail.question is not None:
        yield "asks", f"{one_line(detail.question.question, 400)} ({waits_for(detail.question, now)})"
    if detail.skills:
        yield "skills", " · ".join(detail.skills)
    for steer in detail.steers[-_STEERS:]:
        yield "told", steering.steer_words(steer)


_BAR = 8  # columns of a gauge
_STEERS = 4  # messages that are shown, the newest ones
_TICK = 1.0  # seconds
_SHOWN = 40_000  # characters of a result that are laid out; the rest is for the editor


class TaskDetailScreen(DetailScreen[None]):
    """Follows the task until it is left. `show` brings it up to date with a newer snapshot."""

    SCOPE = "task"
    REPEATS = frozenset({"task.cancel", "task.tell", "task.retry"})

    def __init__(
        self,
        port: Port,
        task_id: str,
        now: float = 0.0,
        *,
        model: str = "",
        refusal: str = "",
        standing: QueueConditions = queueing.NOTHING_KNOWN,
    ) -> None:
        super().__init__(f"Task {one_line(ids.short(task_id), 64)}")
        self._port = port
        self._task_id = task_id
        self._now = now
        self._model = model  # or tier that the role gives it
        self._refusal = refusal  # why nothing can be written, or empty
        self._standing = standing  # what holds queued tasks back
        self._detail: TaskDetail | None = None
        self._seen = -1  # revision of the tasks that the detail was asked for
        self._loader: jobs.Loader[TaskDetail] = jobs.Loader(self, partial(port.task_detail, task_id), self._loaded)

    @property
    def subject(self) -> str:
        return self._task_id

    def body(self) -> ComposeResult:
        yield Facts(classes="head")
        yield TranscriptView(appearance_of(self.app), classes="half")
        with Vertical(classes="half result") as result:
            result.border_title = edge_title("result")
            yield ScrolledLines(self._result_lines, id="result")
        yield StatusLine()

    def keys(self) -> Keys:
        """Only what can be done with the task as it stands."""
        if self._detail is None:
            return self.offer("task_half", "back")
        looks = ("task_expand", "filter") if self._detail.events else ()
        ended, alive = self._detail.view.status.ended, self._detail.view.status.alive
        asks = ("task_answer",) if self._detail.question else ()
        steers = () if ended else ("task_tell", *(("task_stop",) if alive else ()), "task_limits", "task_cancel")
        over = ended or self._detail.view.status is Status.LOST
        acts = (*asks, *steers, *(("task_retry", "task_replay") if over else ()))
        reads = ("task_copy", "task_editor") if self._detail.result else ()
        return self.offer(*acts, *looks, *reads, "task_half", "back")

    def on_mount(self) -> None:
        self.query_one("#transcript").focus()
        self._ask_clock()
        self._loader.load()
        self.set_interval(_TICK, self._tick)

    def _tick(self) -> None:
        """Move the running time on, by the clock of the room."""
        if self._detail is not None and _goes_on(self._detail):
            self._ask_clock()
            self._show_facts(self._detail)
            self._transcript.count_to(self._now, going_on=True)

    def _ask_clock(self) -> None:
        if (host := host_of(self.app)) is not None:
            self._now = host.clock()

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer snapshot: the clock, and the task itself where any task changed."""
        self._now, self._standing = snapshot.taken, snapshot.standing
        if snapshot.revisions.tasks != self._seen:
            self._seen = snapshot.revisions.tasks
            self._loader.load()
        elif self._detail and not self._detail.view.status.ended:
            self._show_facts(self._detail)

    def _loaded(self, detail: TaskDetail) -> None:
        before, self._detail = self._detail, detail
        self._show_facts(detail)
        self._transcript.show(detail.events, omitted=bool(detail.more_events))
        self._transcript.count_to(self._now, going_on=_goes_on(detail))
        self.query_one(KeysLine).show(self.keys())
        self.set_class(bool(detail.result), "-told")
        if before is None or (before.result, before.view.status) != (detail.result, detail.view.status):
            self.query_one("#result", ScrolledLines).redraw()
            self.call_after_refresh(_fit_result, self)

    def _show_facts(self, detail: TaskDetail) -> None:
        shapes = appearance_of(self.app).shapes
        facts = task_facts(detail.view, self._now, shapes, self._model, self._standing, detail.cost)
        self.query_one(Facts).show([*facts, *_said(detail, self._now)])

    def _result_lines(self, width: int, _height: int) -> list[list[Segment]]:
        ink = appearance_of(self.app).ink
        text = self._detail.result if self._detail else ""
        if not text:
            return [line(width, (Cell(no_result(self._detail.view if self._detail else None), ink.muted),))]
        gutter = Segment(f"{appearance_of(self.app).shapes.quotes} ", ink.faint)
        room = max(1, width - len(gutter.text))
        lines = [[gutter, *body] for body in markdown_lines(text[:_SHOWN], room, ink)]
        if len(text) > _SHOWN:
            more = f"… {words.number(len(text) - _SHOWN)} more characters: e opens all of it, Y copies it"
            lines.append(line(width, (Cell(more, ink.accent),)))
        return lines

    @property
    def _transcript(self) -> TranscriptView:
        return self.query_one(TranscriptView)

    def on_line_list_selected(self, _event: LineList.Selected) -> None:
        if (entry := self._transcript.selected) is not None:
            heading = f"{entry.event.kind} {entry.event.tool}".strip()
            facts = (("when", times.exact(times.epoch(entry.event.at))), ("tool", entry.event.tool or "–"))
            self.app.push_screen(ReadingScreen(heading, entry.full_text(), facts))

    def action_transcript(self, name: str) -> None:
        """Expand a step, or narrow the transcript."""
        view = self._transcript
        {"expand": view.unfold, "filter": view.narrow}[name]()

    def action_leave(self) -> None:
        if not self._transcript.widen():
            self.dismiss(None)

    def action_other_half(self) -> None:
        self.query_one("#result" if self._transcript.list.has_focus else "#transcript").focus()

    def action_act(self, verb: str) -> None:
        if self._refusal:
            self.say(self._refusal, True)
            return
        if verb == "task.cancel":
            self._send(CancelTask(task_id=self._task_id))
        elif verb == "stop":
            self._send(CancelTask(task_id=self._task_id, after="step"))
        elif verb == "replay":
            from lumen_tui.tui.screens.replay import ReplayScreen

            self.app.push_screen(ReplayScreen(self._port, self._task_id))
        else:
            retry(self.app, self._detail.view if self._detail else None, self._task_id, self._send)

    def action_ask(self, form: str) -> None:
        """Ask what to say to the task, or how far it may go."""
        if self._refusal or self._detail is None:
            self.say(self._refusal or "The task is still being read.", True)
        else:
            view = self._detail.view
            steering.ask(self.app, steering.TellForm(view) if form == "tell" else steering.LimitForm(view), self._send)

    def action_answer(self) -> None:
        question = self._detail.question if self._detail else None
        if self._refusal or question is None:
            self.say(self._refusal or "It asks nothing now.", True)
            return
        self._ask_clock()
        form = QuestionForm(question, self._now)
        self.app.push_screen(form, lambda request: self._send(request) if request else None)

    def _send(self, request: Request) -> None:
        self.run_worker(self._submit(request), group="act")

    async def _submit(self, request: Request) -> None:
        if await jobs.submit(self, self._port, request):
            self._loader.load()

    def action_why(self) -> None:
        """Show what caused the task, and what came of it."""
        from lumen_tui.tui.screens.lineage import WhyScreen

        self.app.push_screen(WhyScreen(self._port, self._task_id, self._now))

    def action_copy(self) -> None:
        if self._detail is None or not self._detail.result:
            self.say("There is no result to copy yet.", True)
            return
        self.app.copy_to_clipboard(self._detail.result)
        self.say("The result is in the clipboard.")

    def action_edit(self) -> None:
        if self._detail is None or not self._detail.result:
            self.say("There is no result to open yet.", True)
            return
        try:
            changed = editor.edit(self.app, self._detail.result)
        except editor.NoEditor as error:
            self.say(str(error), True)
            return
        self.say("The result stays as the worker wrote it." if changed else "")


def _goes_on(detail: TaskDetail) -> bool:
    """Return whether it is at work, or will be again where it is: what has not ended yet did not fail to."""
    return detail.view.status.alive or detail.view.status.parked


def _fit_result(screen: TaskDetailScreen) -> None:
    """Leave the transcript what a short result does not take."""
    lines = len(screen.query_one("#result", ScrolledLines).strips())
    screen.query_one(".result").styles.max_height = lines + 1
