"""Commands that move around the room: panes, zoom, filter, marks, what needs a person."""

from __future__ import annotations

from lumen_tui.model.snapshot import Attention, Need
from lumen_tui.tui.commands import DECAY, DISCOVERIES, LOOP, SIGNALS, WORKERS
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.layout import arrange
from lumen_tui.tui.widgets.filter_bar import FilterBar

_WHERE = {
    Need.P0_SIGNAL: SIGNALS, Need.FAILED: WORKERS, Need.LOST: WORKERS, Need.STALLED: WORKERS,
    Need.P0_DISCOVERY: DISCOVERIES,
}  # fmt: skip


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
        self.room.zoomed = not self.room.zoomed
        arrange(self.room, self.room.size)

    def why_filter(self) -> str:
        return "" if self.room.current.rows is not None else "this pane has no list; 3, 4, 5 and 6 have one"

    def do_filter(self) -> None:
        rows = self.room.current.rows
        if rows is not None:
            bar = self.room.query_one(FilterBar)
            bar.placeholder = self.room.current.filter_hint
            bar.open(rows.filter_text)

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


class NeedsHandler(Handler):
    """The one queue of what needs a person."""

    at = ""  # the one that was gone to last

    def _why(self) -> str:
        return "" if self.snapshot.attention else "nothing needs you"

    why_next_need = why_previous_need = why_needs = _why

    def do_next_need(self) -> None:
        self._step(1)

    def do_previous_need(self) -> None:
        self._step(-1)

    def do_needs(self) -> None:
        from lumen_tui.tui.screens.attention_screen import AttentionScreen

        def chosen(need: Attention | None) -> None:
            if need is not None:
                self._go(need)

        self.room.lumen.push_screen(AttentionScreen(self.snapshot), chosen)

    def _step(self, by: int) -> None:
        needs = self.snapshot.attention
        names = [_name(need) for need in needs]
        start = names.index(self.at) if self.at in names else (-1 if by > 0 else len(names))
        self._go(needs[(start + by) % len(needs)])

    def _go(self, need: Attention) -> None:
        self.at = _name(need)
        names = [_name(each) for each in self.snapshot.attention]
        place = f"{names.index(self.at) + 1} of {len(names)}: " if self.at in names else ""
        self.room.say(f"{place}{need.text}")
        pane = self.room.pane(_WHERE.get(need.need, _elsewhere(need)))
        self.room.go_to(pane)
        if pane.rows is not None and need.target:
            pane.rows.set_filter("")
            pane.rows.select_key(need.target)


def _name(need: Attention) -> str:
    return f"{need.need}:{need.target}:{need.text}"


def _elsewhere(need: Attention) -> str:
    """Where to look for what is not a row."""
    return DECAY if need.target.startswith("mem-") else LOOP
