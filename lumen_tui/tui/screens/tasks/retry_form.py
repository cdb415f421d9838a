"""Another try for a task that ended at its own cap: with the same cap it would end there again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from textual.app import App
from textual.content import Content
from textual.widget import Widget

from lumen_tui.model.budget import own_words
from lumen_tui.model.tasks import Status, TaskView
from lumen_tui.model.text import one_line
from lumen_tui.tui.kit.fields import Line
from lumen_tui.tui.kit.screen import FormScreen, Invalid, row
from lumen_tui.tui.screens.budget.caps import caps_of, caps_typed

_OWN = "the task's budget "  # how a reason begins to speak of it
_MORE = 2  # how many times as much is proposed


class RetryForm(FormScreen[dict[str, Any]]):
    """Answers with the caps of the next try, both of them: 0 is none."""

    SEND = "retry"

    def __init__(self, view: TaskView) -> None:
        super().__init__("Retry with another budget")
        self._view = view

    def rows(self) -> Iterable[Widget]:
        own = self._view.spec.budget
        more = caps_typed({"tokens": own.tokens * _MORE, "usd": own.usd * _MORE})
        yield row("at most", Line(more, placeholder="such as $0.50, 100k tokens; empty: no cap", id="budget"))

    def preview(self) -> Content:
        own = own_words(self._view.spec.budget)
        return Content(f"The last try ended at its own cap of {own}.\n{one_line(self._view.reason, 300)}")

    def read(self) -> dict[str, Any]:
        try:
            found = caps_of(self.query_one("#budget", Line).text)
        except ValueError as error:
            raise Invalid(f"Budget: {error}.", "budget") from error
        return {"tokens": 0, "usd": 0.0, **found}


def ended_at_its_cap(view: TaskView) -> bool:
    """Whether a task failed for want of the tokens or the money that it was given for itself."""
    own = view.spec.budget
    return view.status is Status.FAILED and bool(own.tokens or own.usd) and _OWN in view.reason


def retry(app: App[Any], view: TaskView | None, send: Callable[..., object]) -> None:
    """`send` a retry, with a word on the cap before it where the task ended at its own."""
    if view is None or not ended_at_its_cap(view):
        send()
        return

    def answered(caps: dict[str, Any] | None) -> None:
        if caps:
            send(budget=caps)

    app.push_screen(RetryForm(view), answered)
