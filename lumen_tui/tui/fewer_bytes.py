"""Partial updates that begin where the change begins.

Textual's compositor crops an update at the right edge of the changed region but not at the left one: a changed
clock at the end of a row sends the whole row. Over SSH that is most of what an almost idle room sends.
"""

from __future__ import annotations

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate


def _render_segments(self: ChopsUpdate, console: Console) -> str:
    parts: list[str] = []
    for y, x1, x2 in self.spans:
        for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
            start, stop = max(x, x1), min(end, x2)
            if strip is None or start >= stop:
                continue
            whole = start == x and stop == end
            parts.append(Control.move_to(start, y).segment.text)
            parts.append((strip if whole else strip.crop(start - x, stop - x)).render(console))
    return "".join(parts)


def install() -> None:
    """Use it for every partial update of this process."""
    ChopsUpdate.render_segments = _render_segments  # type: ignore[method-assign]
