"""One signal in full, and the form that sends one, new or in answer to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.model import ids, times
from lumen_tui.model.records import PRIORITIES, Signal, SignalRow
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.text import one_line, safe
from lumen_tui.tui.kit.fields import Choice, Offers, TextField
from lumen_tui.tui.kit.keys import key_of
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row
from lumen_tui.tui.kit.sheets import ReadingScreen
from lumen_tui.tui.kit.text_area import Prose


class SignalDetail(ReadingScreen[str]):
    """Answers `reply`, or None. `now` (seconds since 1970) gives the age beside the date; 0 leaves it out."""

    SCOPE = "signal"

    def __init__(self, row: SignalRow, now: float = 0.0) -> None:
        signal = row.signal
        facts: list[Fact] = [
            ("from", signal.sender),
            ("to", signal.target_agent or "everyone"),
            ("sent", times.dated(times.epoch(signal.created_at), now)),
            ("priority", signal.priority or "none"),
            ("type", signal.type),
            ("work unit", signal.wu_id or "–"),
            ("lane", signal.lane or "–"),
            ("read", "not yet" if row.unread else "yes"),
            ("id", signal.id),
        ]
        if signal.reply_to:
            facts.append(("answers", signal.reply_to))
        super().__init__(f"Signal from {one_line(signal.sender, 40)}", signal.message, facts)

    def keys(self) -> Keys:
        return (*self.offer("signal_reply"), *super().keys())

    def action_reply(self) -> None:
        self.dismiss("reply")


NO_DRAFT: Mapping[str, Any] = MappingProxyType({})
_ASK = "What should they know? {enter} sends it."
_FIELDS = ("to", "wu_id", "lane")


class SignalForm(FormScreen[SendSignal]):
    """Answers with the request to send a signal."""

    DEFAULT_CLASSES = "long"
    SEND = "send"

    def __init__(self, reply_to: Signal | None, lanes: Sequence[str], draft: Mapping[str, Any] = NO_DRAFT) -> None:
        """`draft` is what was typed before and not sent; it is offered where it is about the same signal."""
        super().__init__(f"Reply to {one_line(reply_to.sender, 40)}" if reply_to else "New signal")
        self._reply_to = reply_to
        self._lanes = lanes
        self._about = reply_to.id if reply_to else ""
        own = draft if draft.get("reply_to", "") == self._about else {}
        self._before = {
            "to": reply_to.sender if reply_to else "",
            "lane": reply_to.lane if reply_to else "",
            "wu_id": reply_to.wu_id if reply_to else "",
            **own,
        }
        self.draft: dict[str, Any] = {}  # as it was left without being sent

    def rows(self) -> Iterable[Widget]:
        reply_to = self._reply_to
        priorities = [("", "none"), *((priority, priority) for priority in PRIORITIES)]
        if reply_to:
            yield Static(safe(reply_to.message), markup=False, classes="quote")
        typed = self._before.get("message", "")
        ask = _ASK.format(enter=key_of(self, "form_send").capitalize())
        yield row("message", Prose(typed, placeholder=ask, sends=True, id="message"))
        yield row("to", TextField(self._before["to"], placeholder="everyone", id="to"))
        yield row("lane", Offers(self._lanes, id="lane", value=self._before["lane"], placeholder="none"))
        yield row("work unit", TextField(self._before["wu_id"], placeholder="none; such as WU-042", id="wu_id"))
        yield row("priority", Choice(priorities, self._before.get("priority", ""), id="priority"))

    def action_leave(self) -> None:
        typed = self.query_one("#message", Prose).typed
        self.draft = {"message": typed, "reply_to": self._about} if typed else {}
        super().action_leave()

    def preview(self) -> Content:
        priority = self.query_one("#priority", Choice).value
        return Content("P0 interrupts every agent until it is read" if priority == "P0" else "")

    def read(self) -> SendSignal:
        message = self.query_one("#message", Prose).typed
        if not message:
            raise Invalid("Write a message: there is nothing to send yet.", "message")
        values = {field: self._checked(field) for field in _FIELDS}
        priority = self.query_one("#priority", Choice).value
        return SendSignal(message=message, priority=priority, reply_to=self._about, **values)

    def _checked(self, field: str) -> str:
        text = self.query_one(f"#{field}", TextField).text
        try:
            return text and (ids.check_wu(text) if field == "wu_id" else ids.check_label(text, field))
        except ids.BadId as error:
            raise Invalid(f"The {error}.", field) from error
