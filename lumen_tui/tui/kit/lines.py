"""Drawn lines of which only changed cells are repainted: scrolled by the wheel, opened by a double click."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from lumen_tui.tui.commands import ROWS
from lumen_tui.tui.kit.cells import changed_span
from lumen_tui.tui.kit.keys import bindings

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


Build = Callable[[int, int], list[list[Segment]]]  # (width, height) -> lines, each exactly `width` cells


class Lines(Widget):
    """What `build` draws for the widget's size. Call `redraw` when it may look different."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Lines { height: 1; width: 1fr; padding: 0 1; }"

    def __init__(self, build: Build, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._build = build
        self._strips: list[Strip] | None = None
        self.top = 0

    def redraw(self) -> None:
        """Build the lines again and repaint what differs."""
        width, height = self.size
        before = self._strips
        self._strips = None
        after = self.strips()
        for y in range(height):
            old = before[y + self.top] if before is not None and y + self.top < len(before) else None
            new = after[y + self.top] if y + self.top < len(after) else Strip.blank(width)
            span = changed_span(old or Strip.blank(width), new, width)
            if span is not None:
                self.refresh(Region(span[0], y, span[1], 1))

    def strips(self) -> list[Strip]:
        """All lines, built where they are not yet."""
        if self._strips is None:
            width, height = self.size
            self._strips = [Strip(line, width) for line in self._build(width, height)] if width > 0 else []
            self.top = max(0, min(self.top, len(self._strips) - height))
        return self._strips

    def render_line(self, y: int) -> Strip:
        strips = self.strips()
        strip = strips[y + self.top] if y + self.top < len(strips) else Strip.blank(self.size.width)
        return strip.apply_style(self.rich_style)

    def on_resize(self) -> None:
        self._strips = None
        self.refresh()


class ClickedLines(Lines):
    """Lines that tell which of them was clicked."""

    class Clicked(Message):
        """Line `y` was clicked."""

        def __init__(self, y: int) -> None:
            super().__init__()
            self.y = y

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked(event.y))


class ScrolledLines(Pointed, Lines, can_focus=True):
    """Lines that take the focus and move under the keys of a list."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(ROWS, "row")
    DEFAULT_CSS = "ScrolledLines { height: 1fr; width: 1fr; padding: 0 1; }"

    class Opened(Message):
        """Enter was pressed."""

    class Moved(Message):
        """Another part of the lines is in the window, or another number of them."""

    @property
    def below(self) -> int:
        """How many lines stand below the window."""
        return max(0, len(self.strips()) - self.top - self.size.height) if self.size.height else 0

    def more_words(self) -> str:
        """`12 more lines below`; empty where the end is in sight."""
        count = self.below
        return f"{count} more line{'' if count == 1 else 's'} below" if count else ""

    def on_resize(self) -> None:
        super().on_resize()
        self.post_message(self.Moved())

    def action_row(self, name: str) -> None:
        """Move the window; marks mean nothing here."""
        if name == "open":
            self.post_message(self.Opened())
        page = max(1, self.size.height - 1)
        steps = {
            "down": 1, "up": -1, "half_down": page // 2, "half_up": -(page // 2), "page_down": page,
            "page_up": -page, "top": -len(self.strips()), "bottom": len(self.strips()),
        }  # fmt: skip
        self.scroll_lines(steps.get(name, 0))

    def scroll_lines(self, lines: int) -> None:
        top = max(0, min(self.top + lines, len(self.strips()) - self.size.height))
        if top != self.top:
            self.top = top
            self.refresh()
            self.post_message(self.Moved())
