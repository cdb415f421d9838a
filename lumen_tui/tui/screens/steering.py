"""What the operator says to a task while it runs: a message, and other limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.content import Content
from textual.widget import Widget

from lumen_tui.model import ids, times
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.tasks import LimitTask, TellTask
from lumen_tui.model.steering import LONGEST, Steer, SteerState
from lumen_tui.model.tasks import TaskView
from lumen_tui.model.text import one_line
from lumen_tui.tui.host import ScreenOpener
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.screen import FormScreen, Invalid, row
from lumen_tui.tui.kit.text_area import Prose

_STATES = {
    SteerState.TOLD: "waits for its next request",
    SteerState.READ: "read",
    SteerState.WITHDRAWN: "withdrawn",
    SteerState.UNSEEN: "not seen: the task had ended",
}


def steer_words(steer: Steer) -> str:
    """Return a message and what became of it, on one line."""
    return f"{one_line(steer.text, 160)} ({one_line(steer.by, 40)}, {_STATES.get(steer.state, str(steer.state))})"


class TellForm(FormScreen[TellTask]):
    """Answers with the request that says something to the task."""

    SEND = "tell"

    def __init__(self, view: TaskView) -> None:
        super().__init__(f"Tell task {ids.short(view.id)}")
        self._view = view

    def rows(self) -> Iterable[Widget]:
        hint = "What should it know, or do differently?"
        yield row("message", Prose("", placeholder=hint, sends=True, id="text"))

    def preview(self) -> Content:
        return Content("It goes into the worker's next request to the model, as your order.")

    def read(self) -> TellTask:
        text = self.query_one("#text", Prose).typed
        if not text:
            raise Invalid("Write a message: there is nothing to say yet.", "text")
        if len(text) > LONGEST:
            raise Invalid(f"{len(text):,} characters are too many: {LONGEST:,} at most.", "text")
        return TellTask(task_id=self._view.id, text=text)


class LimitForm(FormScreen[LimitTask]):
    """Answers with the request that changes how far the task may go; an empty field leaves its limit."""

    SEND = "change"

    def __init__(self, view: TaskView) -> None:
        super().__init__(f"Limits of task {ids.short(view.id)}")
        self._view = view

    def rows(self) -> Iterable[Widget]:
        spec = self._view.spec
        usual = "that of its role"
        limit = times.limit(spec.timeout_seconds) if spec.timeout_seconds else usual
        yield row("steps", TextField(placeholder=f"{spec.steps:,}" if spec.steps else usual, id="steps"))
        yield row("time", TextField(placeholder=f"{limit}; such as 10m or 2h", id="timeout_seconds"))
        yield row(
            "tokens", TextField(placeholder=f"{spec.budget.tokens:,}" if spec.budget.tokens else "any", id="tokens")
        )
        yield row("dollars", TextField(placeholder=f"{spec.budget.usd:g}" if spec.budget.usd else "any", id="usd"))

    def preview(self) -> Content:
        return Content("Altogether, with what it has used; an empty field leaves its limit, 0 takes it away.")

    def read(self) -> LimitTask:
        request = LimitTask(
            task_id=self._view.id,
            steps=self._whole("steps"),
            timeout_seconds=self._seconds(),
            tokens=self._whole("tokens"),
            usd=self._dollars(),
        )
        if set(request.given()) == {"task_id"}:
            raise Invalid("Change a limit: there is nothing to send yet.", "steps")
        return request

    def _text(self, name: str) -> str:
        return self.query_one(f"#{name}", TextField).text.replace(",", "").strip()

    def _whole(self, name: str) -> int | None:
        text = self._text(name)
        if text and not (text.isascii() and text.isdecimal() and len(text) < 12):
            raise Invalid("Give a whole number, such as 80.", name)
        return int(text) if text else None

    def _dollars(self) -> float | None:
        text = self._text("usd").lstrip("$")
        if text and not (text.isascii() and text.replace(".", "", 1).isdecimal() and len(text) < 12):
            raise Invalid("Give dollars, such as 2.50.", "usd")
        return float(text) if text else None

    def _seconds(self) -> float | None:
        text = self._text("timeout_seconds")
        if not text:
            return None
        try:
            return times.parse_duration(text.replace(" ", ""))
        except ValueError as error:
            raise Invalid(f"The time: {error}.", "timeout_seconds") from error


def ask(app: ScreenOpener, form: TellForm | LimitForm, send: Callable[[Request], object]) -> None:
    """Open one of these forms, and send what it answers with."""

    def answered(request: Request | None) -> None:
        if request is not None:
            send(request)

    app.push_screen(form, answered)
