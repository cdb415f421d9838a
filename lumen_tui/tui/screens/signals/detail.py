"""One signal in full."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from lumen_tui.model import times
from lumen_tui.model.snapshot import SignalRow
from lumen_tui.model.text import one_line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.reader import ReadingScreen
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.timestamps import moment


class SignalDetail(ReadingScreen[str]):
    """Answers `reply`, or None. `now` (seconds since 1970) gives the age beside the date; 0 leaves it out."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("a,i", "reply", show=False)]

    def __init__(self, row: SignalRow, now: float = 0.0) -> None:
        signal = row.signal
        facts: list[Fact] = [
            ("from", signal.sender),
            ("to", signal.target_agent or "everyone"),
            ("sent", moment(times.epoch(signal.created_at), now)),
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
        return (("a", "answer"), *super().keys())

    def action_reply(self) -> None:
        self.dismiss("reply")
