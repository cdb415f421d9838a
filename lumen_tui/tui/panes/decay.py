"""What the agent will forget: the scores at a glance, and what fades next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from lumen_tui.model.decay import DecayView, Fading, score
from lumen_tui.model.snapshot import Revisions
from lumen_tui.model.times import DAY, iso
from lumen_tui.tui import words
from lumen_tui.tui.commands import DECAY
from lumen_tui.tui.panes.base import Detail, Pane, place_of
from lumen_tui.tui.theme import Look
from lumen_tui.tui.widgets.bindings import bindings
from lumen_tui.tui.widgets.cells import Cell, line, spread
from lumen_tui.tui.widgets.line_list import LineList
from lumen_tui.tui.widgets.lines import Lines

_EMPTY = "Nothing fades. Nodes that nobody touches lose half their score in every half-life."


class FadingRows:
    """How a fading node is drawn in the list."""

    def __init__(self, pane: DecayPane) -> None:
        self._pane = pane

    def key(self, row: Fading) -> str:
        return row.node_id

    def line(self, row: Fading, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, pane = self._pane.look.ink, self._pane
        now_score = score(pane.now - row.touched, pane.snapshot.decay.rule)
        left = row.fades_at - pane.now
        when = words.until(left) if left > 0 else "due"
        cells = [
            Cell(f"{now_score:.3f}", ink.muted, 5),
            Cell(row.title, ink.strong if selected else ink.text),
            Cell(when, ink.accent if left < DAY else ink.muted, 9, right=True, gap=1),
        ]
        return line(width, cells)

    def more(self, row: Fading, width: int) -> list[Segment]:
        return line(width, [Cell(row.node_id, self._pane.look.ink.muted)])

    def words(self, row: Fading) -> str:
        return f"{row.title} {row.node_id}"

    def fields(self, row: Fading) -> Mapping[str, str]:
        return {"id": row.node_id}


def histogram(view: DecayView, width: int, look: Look) -> list[tuple[str, bool]]:
    """Bars for the bins from 1 down to the threshold, each `width // bins` cells wide; True for those near the end."""
    levels, most = look.shapes.levels, max(*view.histogram, 1)
    bins = len(view.histogram)
    bars = []
    for index, count in enumerate(view.histogram):
        size = width * (index + 1) // bins - width * index // bins
        level = levels[min(len(levels) - 1, count * len(levels) // (most + 1))] if count else " "
        bars.append((level * size, index >= bins - 1))
    return bars


class DecayPane(Pane):
    """Pane 6."""

    scope, number, name_shown = DECAY, 6, "Decay"
    BINDINGS: ClassVar[list[BindingType]] = bindings(DECAY, "screen.do")

    def __init__(self) -> None:
        super().__init__()
        self._head = Lines(self._head_lines, id="decay-head")
        self._list: LineList[Fading] = LineList(FadingRows(self), empty=_EMPTY)
        self._foot = Lines(self._foot_lines, id="decay-foot")

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._list
        yield self._foot

    def revision(self, revisions: Revisions) -> object:
        return revisions.nodes

    def fill(self) -> None:
        self._list.set_rows(self.snapshot.fading)

    def tick(self, now: float) -> None:
        super().tick(now)
        self._head.redraw()
        self._foot.redraw()

    @on(LineList.Highlighted)
    def moved(self) -> None:
        """The cursor moved."""
        self.caption(self.title_words(), self.subtitle_words())
        self.post_message(self.Changed(self))

    def subtitle_words(self) -> str:
        rows, view = self._list, self.snapshot.decay
        if rows.marks.keys or rows.filter_text:
            return place_of(rows, "fading")
        due = f"{words.number(view.due)} due · " if view.due else ""
        return f"{due}{words.number(view.within_week)} fade within 7 days" if view.active else ""

    def short(self) -> tuple[str, bool]:
        return self.subtitle_words() or "nothing fades", False

    def detail(self) -> Detail | None:
        row = self._list.selected
        if row is None:
            return None
        rule = self.snapshot.decay.rule
        facts = (
            ("score", f"{score(self.now - row.touched, rule):.3f}"), ("touched", iso(row.touched)[:16]),
            ("fades", iso(row.fades_at)[:16]), ("half-life", f"{rule.half_life_days:g} d"),
            ("threshold", f"{rule.threshold:g}"),
        )  # fmt: skip
        return Detail(row.node_id, facts, row.title)

    def _head_lines(self, width: int, height: int) -> list[list[Segment]]:
        view, ink = self.snapshot.decay, self.look.ink
        low = f" {view.rule.threshold:g}"
        bars = histogram(view, max(0, width - 4 - len(low)), self.look)
        curve = [(text, ink.accent if near else ink.text) for text, near in bars]
        rule = f"half-life {view.rule.half_life_days:g} d {self.look.shapes.sep} threshold {view.rule.threshold:g}"
        return [
            spread(width, [("1.0 ", ink.muted), *curve, (low, ink.muted)], []),
            spread(width, [(rule, ink.muted)], []),
            spread(width, [("", ink.muted)], []),
        ][: max(1, height)]

    def _foot_lines(self, width: int, height: int) -> list[list[Segment]]:
        view, sep = self.snapshot.decay, f" {self.look.shapes.sep} "
        counts = ((view.pinned, "pinned"), (view.protected, "protected"), (view.archived, "archived"))
        said = sep.join(f"{words.number(count)} {word}" for count, word in counts)
        return [spread(width, [(said, self.look.ink.muted)], [])]
