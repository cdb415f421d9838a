"""Lines of a page that the program draws itself: facts, and texts of somebody else behind a gutter mark."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import chop_cells
from rich.segment import Segment
from rich.style import Style

from lumen_tui.model.text import fold, safe
from lumen_tui.tui.kit.lines import Cell, line, sign, wrap
from lumen_tui.tui.theme import Appearance

LABEL = 10  # cells for the names of facts

Line = list[Segment]


def fact(name: str, value: str, style: Style, width: int, look: Appearance) -> Iterator[Line]:
    """Yield a value of the program's own; long ones go on below."""
    for number, part in enumerate(wrap(safe(value), max(1, width - LABEL))):
        yield line(width, (Cell("" if number else name, look.ink.muted, LABEL), Cell(part, style, gap=0)))


def said(name: str, value: str, width: int, look: Appearance) -> Iterator[Line]:
    """Yield a value that somebody else wrote: behind the gutter."""
    if not value:
        return
    for number, part in enumerate(wrap(safe(value), max(1, width - LABEL - 2))):
        cells = (
            Cell("" if number else name, look.ink.muted, LABEL),
            sign(look.shapes.gutter, look.ink.faint, gap=0),
            Cell(part, look.ink.text, gap=1),
        )
        yield line(width, cells)


def blank(width: int, look: Appearance) -> Line:
    return [Segment(" " * width, look.ink.text)]


def heading(text: str, width: int, look: Appearance) -> Line:
    return line(width, (Cell(text, look.ink.heading),))


def quote(text: str, width: int, look: Appearance) -> Iterator[Line]:
    """The text with its own lines, long emptiness folded. What goes on from the line above has a mark of its own."""
    for part in fold(text).split("\n"):
        yield from quoted(part, look.ink.strong, width, look)


def quoted(part: str, style: Style, width: int, look: Appearance) -> Iterator[Line]:
    for number, piece in enumerate(chop_cells(part, max(2, width - 2)) or [""]):
        cells = (
            Cell(look.shapes.gutter, look.ink.faint, 1),
            Cell(look.shapes.sep if number else " ", look.ink.muted, 1, gap=0),
            Cell(piece, style, gap=0),
        )
        yield line(width, cells)
