"""A field for text that wraps. It stands alone: what it is made of takes long to import, and few screens have one."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from lumen_tui.model.text import safe
from lumen_tui.tui.kit.keys import keys_of


class Prose(TextArea):
    """Text that wraps. Where `sends` is set, enter sends the form as long as there is only one line."""

    class Sent(Message):
        """Enter was pressed in a text of one line."""

    def __init__(self, text: str = "", *, placeholder: str = "", sends: bool = False, id: str | None = None) -> None:
        super().__init__(
            safe(text), placeholder=Content(placeholder), id=id, compact=True, soft_wrap=True,
            tab_behavior="focus", highlight_cursor_line=False,
        )  # fmt: skip
        self.cursor_blink = False
        self._sends = sends

    @property
    def typed(self) -> str:
        """What was typed, safe and without the blanks around it."""
        return safe(self.text).strip()

    def on_mount(self) -> None:
        self.move_cursor(self.document.end)

    def on_resize(self) -> None:
        """Textual wraps again and keeps what it drew where that is as many lines: their ends would be cut."""
        self.call_after_refresh(self.refresh)

    def on_key(self, event: events.Key) -> None:
        if self._sends and event.key in keys_of(self, "form_send") and "\n" not in self.text:
            event.stop()
            event.prevent_default()
            self.post_message(self.Sent())
