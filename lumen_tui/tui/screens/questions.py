"""A question of a worker or the main agent: read in full, and answered by a number or a text."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.model import ids, times
from lumen_tui.model.approvals import Approval
from lumen_tui.model.requests.attention import AnswerQuestion
from lumen_tui.model.text import fold, one_line
from lumen_tui.tui.kit.fields import Offers, TextField
from lumen_tui.tui.kit.keys import key_of, pair_of
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, form_keys, row


def waits_for(request: Approval, now: float) -> str:
    """Return what becomes of the question by itself."""
    if now >= request.expires:
        return f"expired; its default was taken: {one_line(request.default, 80)}"
    return f"in {times.countdown(request.expires - now)} it goes on with: {one_line(request.default, 80)}"


class QuestionForm(FormScreen[AnswerQuestion]):
    """Answers with the request that answers the question. What its asker wrote stands behind a gutter."""

    SEND = "answer"
    DEFAULT_CSS = "QuestionForm .whose { height: auto; width: 100%; color: $room-muted; }"

    def __init__(self, request: Approval, now: float) -> None:
        super().__init__(f"{one_line(request.role, 40)} asks")
        self._request, self._now = request, now

    def rows(self) -> Iterable[Widget]:
        asked = f"task {ids.short(self._request.task_id)}, {times.ago(self._now - self._request.asked)}"
        yield Static(Content(asked), classes="whose")
        yield Static(Content(fold(self._request.question)), classes="agent words")
        hint = "your answer, or the number of one below" if self._request.options else "your answer"
        yield row("answer", Offers(self._request.options, id="answer", placeholder=hint, numbered=True))

    def keys(self) -> Keys:
        if not self._request.options:
            return form_keys(self)
        arrows, label = pair_of(self, "offer_previous", "offer_next", "an offered one")
        return form_keys(self, (f"{key_of(self, 'offer_number')} {arrows}", label))

    def preview(self) -> Content:
        return Content(waits_for(self._request, self._now))

    def tick(self, now: float) -> None:
        """Count down with the room's clock."""
        self._now = now
        self.refresh_preview()

    def read(self) -> AnswerQuestion:
        answer = self.query_one("#answer", TextField).text
        if not answer:
            raise Invalid("Give an answer: one line, or one of those that are offered.", "answer")
        return AnswerQuestion(question_id=self._request.id, answer=answer, hash=self._request.hash)
