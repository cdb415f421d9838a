"""Partial updates that draw the lines that changed and no others, and send no more bytes than the change needs.

Textual's compositor draws every widget from top to bottom that stands anywhere between the first and the last changed
line, and keeps the changed ones. Where a cursor moves, these are two lines of a list, its frame and the footer: nearly
all of the screen is drawn for four lines. It crops an update at the right edge of the changed region but not at the
left one: a changed clock at the end of a row sends the whole row. Rich ends every segment with a reset and begins the
next with both colours. Over SSH these two are most of what the room sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.strip import Strip

_COLOURS = re.compile("\x1b\\[([0-9;]*)m")
_MOVES = re.compile("(?:\x1b\\[[0-9;]*H)*")
_LENGTHS = {"2": 5, "5": 3}  # numbers of a colour by the kind that stands behind 38 or 48


class Pen(NamedTuple):
    """How a terminal draws: the numbers of SGR for attributes and for each colour, empty for the terminal's own."""

    attributes: str = ""
    ink: str = ""
    ground: str = ""


_PLAIN = Pen()


@lru_cache(maxsize=1024)
def _pen(numbers: str) -> Pen:
    """Return what `1;38;2;1;2;3` asks for, from a reset on."""
    attributes, ink, ground = [], "", ""
    rest = [number for number in numbers.split(";") if number not in ("", "0")]
    while rest:
        size = _LENGTHS.get(rest[1] if len(rest) > 1 else "", 1) if rest[0] in ("38", "48") else 1
        code, rest = rest[:size], rest[size:]
        tens = int(code[0]) // 10
        if tens in (3, 9):
            ink = ";".join(code)
        elif tens in (4, 10):
            ground = ";".join(code)
        else:
            attributes += code
    return Pen(";".join(attributes), ink, ground)


@lru_cache(maxsize=4096)
def _change(was: Pen, now: Pen) -> str:
    """Return the shortest sequence from one to the other."""
    if was == now:
        return ""
    lost = was.attributes != now.attributes or (was.ink and not now.ink) or (was.ground and not now.ground)
    if lost and was != _PLAIN:
        return f"\x1b[{';'.join(part for part in ('0', *now) if part)}m" if now != _PLAIN else "\x1b[0m"
    parts = [new for old, new in zip(was, now, strict=True) if old != new]
    return f"\x1b[{';'.join(parts)}m"


def thrifty(text: str) -> str:
    """Return the same picture: colours are set where they change, and reset at the end."""
    pieces = _COLOURS.split(text)  # text, numbers, text, numbers, … text
    drawn, wanted = _PLAIN, _PLAIN
    parts = [pieces[0]]
    for numbers, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        wanted = _pen(numbers)
        if not _MOVES.fullmatch(piece):
            parts.append(_change(drawn, wanted))
            drawn = wanted
        parts.append(piece)
    parts.append(_change(drawn, _PLAIN))
    return "".join(parts)


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
    return thrifty("".join(parts))


def bands(lines: Iterable[int]) -> list[range]:
    """Return line numbers as ranges of neighbours: 2, 3, 39 as 2 to 3 and 39."""
    ranges: list[range] = []
    for line in sorted(lines):
        if ranges and line <= ranges[-1].stop:
            ranges[-1] = range(ranges[-1].start, line + 1)
        else:
            ranges.append(range(line, line + 1))
    return ranges


def _render_partial_update(self: Compositor) -> ChopsUpdate | None:
    height = self.size.height
    spans = [span for span in self._regions_to_spans(self._dirty_regions) if 0 <= span[0] < height]
    self._dirty_regions.clear()
    if not spans:
        return None
    chops: list[Mapping[int, Strip]] = [{} for _ in range(height)]
    for band in bands({y for y, _, _ in spans}):
        crop = Region(0, band.start, self.size.width, len(band))
        chops[band.start : band.stop] = self._render_chops(crop, band.__contains__)[band.start : band.stop]
    return ChopsUpdate(chops, spans, [cuts[1:] for cuts in self.cuts])


def _get_renders(self: Compositor, crop: Region | None = None) -> Iterator[tuple[Region, Region, Sequence[Strip]]]:
    for widget, (region, clip) in self.visible_widgets.items():
        seen = region.intersection(clip) if crop is None else region.intersection(clip).intersection(crop)
        if seen:
            yield seen, clip, widget.render_lines(seen.translate(-region.offset))


def install() -> None:
    """Use both for every partial update of this process."""
    ChopsUpdate.render_segments = _render_segments  # type: ignore[method-assign]
    Compositor.render_partial_update = _render_partial_update  # type: ignore[method-assign]
    Compositor._get_renders = _get_renders  # type: ignore[assignment, method-assign]
