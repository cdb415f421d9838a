"""The third column of a wide window: the selected row in full."""

from __future__ import annotations

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from lumen_tui.model.text import humanize, one_line, safe
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.cells import spread, wrap
from lumen_tui.tui.kit.lines import Lines
from lumen_tui.tui.panes.base import Detail

_LIMIT = 20_000  # characters that are laid out
_NOTHING = "Select a row: it is shown here in full."


class DetailColumn(Vertical):
    """Shows whatever it is given."""

    def __init__(self) -> None:
        super().__init__(id="detail", classes="pane")
        self._lines = Lines(self._build, id="detail-lines")
        self._detail: Detail | None = None

    def compose(self) -> ComposeResult:
        yield self._lines

    def show(self, detail: Detail | None) -> None:
        """Show a row, or the hint that there is none."""
        if detail == self._detail:
            return
        self._detail = detail
        self._border_title = Content(one_line(humanize(detail.title), 60)) if detail else None
        self._lines.top = 0
        self.refresh()
        self._lines.redraw()

    def _build(self, width: int, height: int) -> list[list[Segment]]:
        look = appearance_of(self.app)
        ink, detail = look.ink, self._detail
        if detail is None:
            return [spread(width, [(text, ink.muted)], []) for text in wrap(_NOTHING, width)]
        lines = [
            spread(width, [(f"{name:<11}", ink.muted), (one_line(humanize(value)), ink.text)], [])
            for name, value in detail.facts
            if value
        ]
        blank = spread(width, [("", ink.text)], [])
        lines += [blank] if lines else []
        lines += [*detail.drawing.lines(width, look), blank] if detail.drawing else []
        text = detail.body[:_LIMIT]
        body = wrap(safe(humanize(text) if detail.composed else text).strip(), width - 2)
        return lines + [spread(width, [(f"{look.shapes.gutter} ", ink.accent), (text, ink.text)], []) for text in body]
