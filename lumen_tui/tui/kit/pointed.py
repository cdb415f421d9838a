"""The mouse over lines: the wheel moves the window, a double click opens."""

from __future__ import annotations

from textual import events
from textual.widget import Widget

_WHEEL = 3  # lines


class Pointed(Widget):
    """A widget that scrolls its own lines."""

    def scroll_lines(self, lines: int) -> None:
        """Move the window by some lines."""
        raise NotImplementedError

    def action_row(self, name: str) -> None:
        """Carry out one of the commands of the scope ROWS."""
        raise NotImplementedError

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_lines(_WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_lines(-_WHEEL)

    def on_click(self, event: events.Click) -> None:
        if event.chain == 2:
            self.action_row("open")
