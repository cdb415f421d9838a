"""A screen as text that can be compared: its lines, then which style each cell has."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from rich.segment import Segment
from rich.style import Style


def picture(app: Any) -> str:
    """Return the lines of the screen, a legend of its styles by letter, and the runs of letters of each line."""
    strips = app.screen._compositor.render_strips(app.screen.size)
    legend: dict[str, str] = {}
    rows = [_row(list(strip), legend) for strip in strips]
    lines = ["".join(segment.text for segment in strip).rstrip() for strip in strips]
    named = [f"{letter} {style}" for style, letter in legend.items()]
    runs = [f"{len(list(same)):3} {row}" for row, same in groupby(rows)]
    return "\n".join([*lines, "", *named, "", *runs]) + "\n"


def _row(segments: list[Segment], legend: dict[str, str]) -> str:
    """Return the styles of a line as `12a 3b`, so many cells of each; the rest of the line is not told."""
    runs = groupby((_name(segment.style, legend), segment.cell_length) for segment in segments)
    lengths: list[tuple[str, int]] = []
    for (letter, length), same in runs:
        cells = length * len(list(same))
        if lengths and lengths[-1][0] == letter:
            cells += lengths.pop()[1]
        lengths.append((letter, cells))
    return " ".join(f"{cells}{letter}" for letter, cells in lengths)


def _name(style: Style | None, legend: dict[str, str]) -> str:
    words = str(style.without_color + Style.from_color(style.color, style.bgcolor)) if style else "none"
    return legend.setdefault(words, _letter(len(legend)))


def _letter(number: int) -> str:
    return chr(ord("a") + number) if number < 26 else f"{chr(ord('A') + number % 26)}"
