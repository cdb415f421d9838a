"""The line in which a filter is typed, in place of the footer."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class FilterBar(Input):
    """What is typed; every change is sent at once."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "drop", show=False),
        Binding("down,up,tab", "keep", show=False),
    ]

    class Typed(Message):
        """The filter reads like this now."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Closed(Message):
        """Typing is over; `keep` tells whether the filter stays."""

        def __init__(self, keep: bool) -> None:
            super().__init__()
            self.keep = keep

    def __init__(self) -> None:
        super().__init__(id="filter", placeholder="filter: words, !without, field:value", select_on_focus=False)
        self.cursor_blink = False

    def open(self, text: str) -> None:
        """Show the bar with what the list is narrowed by now."""
        self.value = text
        self.cursor_position = len(text)
        self._line.display = True
        self.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._line.display:
            self.post_message(self.Typed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """Back to the list, narrowed."""
        self._close(keep=True)

    def action_drop(self) -> None:
        """Back to the whole list."""
        self._close(keep=False)

    def _close(self, *, keep: bool) -> None:
        self._line.display = False
        self.post_message(self.Closed(keep))

    @property
    def _line(self) -> FilterLine:
        found = self.parent
        if not isinstance(found, FilterLine):
            raise LookupError("a filter bar stands in a filter line")
        return found


class FilterLine(Horizontal):
    """`/` and the bar, in place of the footer. Hidden until the bar is opened."""

    def __init__(self) -> None:
        super().__init__(id="filter-line")
        self.display = False

    def compose(self) -> ComposeResult:
        yield Static("/", id="filter-sign")
        yield FilterBar()
