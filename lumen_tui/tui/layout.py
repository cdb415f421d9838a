"""Where the panes stand for the size of the window, and which of them are seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.segment import Segment
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

from lumen_tui.tui.commands import DISCOVERIES, SIGNALS, WORKERS
from lumen_tui.tui.kit.cells import spread
from lumen_tui.tui.panes.base import Pane
from lumen_tui.tui.theme import Appearance

_TWO_COLUMNS = Size(100, 30)  # below this the focused pane has the screen
_DETAIL = 180  # cells from which the selected row has a column of its own
_LOW, _TALL = 36, 45  # lines
_LINES, _LINE = 16, 9  # lines from which the other panes have a line each, or one together
_TINY = Size(44, 12)
_SHARING = (WORKERS, SIGNALS, DISCOVERIES)  # the panes that stand in one column


class Layout(NamedTuple):
    """How the room is laid out now."""

    narrow: bool = False
    single: bool = False
    wide: bool = False
    low: bool = False
    tall: bool = False
    tiny: bool = False
    others: int = 0  # lines for the panes that are not seen


def layout_for(size: Size, zoomed: bool) -> Layout:
    """The layout of a window."""
    width, height = size
    narrow = width < _TWO_COLUMNS.width or height < _TWO_COLUMNS.height
    others = (5 if height >= _LINES else 1 if height >= _LINE else 0) if narrow and not zoomed else 0
    return Layout(
        narrow=narrow,
        single=narrow or zoomed,
        wide=width >= _DETAIL and not narrow and not zoomed,
        low=height < _LOW and not narrow,
        tall=height >= _TALL,
        tiny=width < _TINY.width or height < _TINY.height,
        others=others,
    )


def arrange(screen: Screen[None], layout: Layout, panes: Sequence[Pane], current: Pane) -> None:
    """Show and hide what the layout asks for. What is seen is set here, before the focus moves to it."""
    for name in ("narrow", "wide", "low", "tall", "tiny", "single"):
        screen.set_class(getattr(layout, name), name)
    for pane in panes:
        _seen(pane, not layout.single or pane is current)
        pane.set_class(layout.single and pane is current, "alone")
    for column in ("#left", "#right"):
        holder = screen.query_one(column)
        _seen(holder, not layout.single or current in holder.children)
    others = screen.query_one("#others")
    _seen(others, layout.others > 0)
    others.styles.height = max(1, layout.others)
    _seen(screen.query_one("#detail"), layout.wide)


def share(panes: Sequence[Pane]) -> None:
    """Where another list of the column has rows, one without any gives up all but the lines of its sentence."""
    lists = [(pane, pane.rows) for pane in panes if pane.scope in _SHARING]
    filled = [pane for pane, rows in lists if rows is not None and rows.model.rows]
    for pane, _ in lists:
        pane.set_class(bool(filled) and pane not in filled, "-empty")


def _seen(widget: Widget, seen: bool) -> None:
    if widget.display is not seen:
        widget.display = seen


def pane_line(panes: Sequence[Pane], current: Pane, width: int, look: Appearance) -> list[Segment]:
    """All panes on one line, for a window too low for a line each."""
    ink = look.ink
    parts = [(f"{pane.number} {pane.name_shown}  ", ink.loud if pane is current else ink.muted) for pane in panes]
    return spread(width, parts, [])
