"""A reason, asked for in one line; the last ones are offered again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.model.text import safe
from lumen_tui.tui.kit.fields import Line, Offers
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.keys_line import KeysLine
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row

Appearance = Callable[[], tuple[str, ...]]


class ReasonPrompt(FormScreen[str]):
    """Answers with the reason for what `title` says, verb first. `lines` say beforehand what the action will do.

    `look`, called in a thread, gives what is offered where nothing was `recent`.
    """

    hint = "reason (stored in the journal)"

    def __init__(
        self, title: str, recent: tuple[str, ...], lines: Sequence[str] = (), look: Appearance | None = None
    ) -> None:
        super().__init__(title)
        self.SEND = title.partition(" ")[0].lower()
        self._look = look
        self._recent = recent
        self._lines = tuple(lines)

    def keys(self) -> Keys:
        taken = (("1-9 ↑↓", "an earlier one"),) if self._recent else ()
        return (("enter", "or F2"), *taken, ("esc", "cancel"))

    def rows(self) -> Iterable[Widget]:
        if self._lines:
            yield Static(safe("\n".join(self._lines)), markup=False, classes="consequences")
        yield row("reason", Offers(self._recent, id="reason", placeholder=self.hint, numbered=True))

    def on_mount(self) -> None:
        super().on_mount()
        if self._look is not None:
            self.run_worker(self._offer(self._look))

    async def _offer(self, look: Appearance) -> None:
        """What is offered already keeps its digits."""
        recent = await looked(self, look)
        if recent and not self._recent:
            self._recent = recent
            self.query_one(Offers).offer(recent)
            self.query_one(KeysLine).show(self.keys())

    def read(self) -> str:
        reason = self.query_one("#reason", Line).text
        if not reason:
            raise Invalid("Give a reason: one line that explains it later.", "reason")
        return reason
