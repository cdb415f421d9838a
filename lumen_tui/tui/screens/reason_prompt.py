"""A reason, asked for in one line; the last ones are offered again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.model.text import safe
from lumen_tui.tui.screens.base import FormScreen, Invalid, Keys, row
from lumen_tui.tui.screens.fields import Line, Offers


class ReasonPrompt(FormScreen[str]):
    """Answers with the reason. `lines` say beforehand what the action will do."""

    SEND = "do it"

    def __init__(self, title: str, recent: tuple[str, ...], lines: Sequence[str] = ()) -> None:
        super().__init__(title)
        self._recent = recent
        self._lines = tuple(lines)

    def keys(self) -> Keys:
        taken = (("1-9 ↑↓", "an earlier one"),) if self._recent else ()
        return (("enter", "or F2"), *taken, ("esc", "cancel"))

    def rows(self) -> Iterable[Widget]:
        if self._lines:
            yield Static(safe("\n".join(self._lines)), markup=False, classes="consequences")
        yield row(
            "reason", Offers(self._recent, id="reason", placeholder="why? it is kept with the record", numbered=True)
        )

    def read(self) -> str:
        reason = self.query_one("#reason", Line).text
        if not reason:
            raise Invalid("Give a reason: one line that explains it later.", "reason")
        return reason
