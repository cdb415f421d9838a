"""A signal to the agents, new or in answer to one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.model import ids
from lumen_tui.model.records import PRIORITIES, Signal
from lumen_tui.model.text import one_line, safe
from lumen_tui.tui.kit.fields import Choice, Line, Offers
from lumen_tui.tui.kit.screen import FormScreen, Invalid, row
from lumen_tui.tui.kit.text_area import Prose

NO_DRAFT: Mapping[str, Any] = MappingProxyType({})
_ASK = "What should they know? Enter sends it."
_FIELDS = ("to", "wu_id", "lane")


class SignalForm(FormScreen[dict[str, Any]]):
    """Answers with the arguments of `signal.send`, without those that were left alone."""

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
            "to": reply_to.sender if reply_to else "", "lane": reply_to.lane if reply_to else "",
            "wu_id": reply_to.wu_id if reply_to else "", **own,
        }  # fmt: skip
        self.draft: dict[str, Any] = {}  # as it was left without being sent

    def rows(self) -> Iterable[Widget]:
        answered = self._reply_to
        priorities = [("", "none"), *((priority, priority) for priority in PRIORITIES)]
        if answered:
            yield Static(safe(answered.message), markup=False, classes="quote")
        typed = self._before.get("message", "")
        yield row("message", Prose(typed, placeholder=_ASK, sends=True, id="message"))
        yield row("to", Line(self._before["to"], placeholder="everyone", id="to"))
        yield row("lane", Offers(self._lanes, id="lane", value=self._before["lane"], placeholder="none"))
        yield row("work unit", Line(self._before["wu_id"], placeholder="none; such as WU-042", id="wu_id"))
        yield row("priority", Choice(priorities, self._before.get("priority", ""), id="priority"))

    def action_leave(self) -> None:
        typed = self.query_one("#message", Prose).typed
        self.draft = {"message": typed, "reply_to": self._about} if typed else {}
        super().action_leave()

    def preview(self) -> Content:
        priority = self.query_one("#priority", Choice).value
        return Content("P0 stands in every agent's way until it is read" if priority == "P0" else "")

    def read(self) -> dict[str, Any]:
        message = self.query_one("#message", Prose).typed
        if not message:
            raise Invalid("Write a message: there is nothing to send yet.", "message")
        found = {field: self._checked(field) for field in _FIELDS}
        found["priority"] = self.query_one("#priority", Choice).value
        found["reply_to"] = self._about
        return {"message": message} | {name: value for name, value in found.items() if value}

    def _checked(self, field: str) -> str:
        text = self.query_one(f"#{field}", Line).text
        try:
            return text and (ids.check_wu(text) if field == "wu_id" else ids.check_label(text, field))
        except ids.BadId as error:
            raise Invalid(f"The {error}.", field) from error
