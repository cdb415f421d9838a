"""Commands that move around the room: panes, zoom, filter, marks."""

from __future__ import annotations

from lumen_tui.tui.handlers.base import Handler


class PanesHandler(Handler):
    """Focus, zoom, filter, back."""

    def to_pane(self, number: int) -> None:
        """Give pane 1 to 6 the focus."""
        self.room.go_to(self.room.panes[number - 1])

    def step(self, by: int) -> None:
        """Give the next or the previous pane the focus."""
        panes = self.room.panes
        self.room.go_to(panes[(panes.index(self.room.current) + by) % len(panes)])

    def do_next_pane(self) -> None:
        self.step(1)

    def do_previous_pane(self) -> None:
        self.step(-1)

    def do_zoom(self) -> None:
        self.room.toggle_zoom()

    def why_filter(self) -> str:
        return "" if self.room.current.rows is not None else "this pane has no list; 3, 4, 5 and 6 have one"

    def do_filter(self) -> None:
        self.room.open_filter()

    def do_back(self) -> None:
        """The nearest thing first: marks, then the filter, then the zoom."""
        rows = self.room.current.rows
        if rows is not None and rows.marks.clear():
            rows.set_filter(rows.filter_text)
            rows.refresh_changed()
            self.room.current.tick(self.room.current.now)
        elif rows is not None and rows.filter_text:
            rows.set_filter("")
        elif self.room.zoomed:
            self.do_zoom()
