"""Partial updates that draw the cells that changed and no others.

Textual's compositor draws every widget from top to bottom that stands anywhere between the first and the last changed
line, and keeps the changed ones. Where a cursor moves, these are two lines of a list, its frame and the footer: nearly
all of the screen is drawn for four lines. It also draws what each widget covers: the screen, its columns, a frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.strip import Strip

Chops = dict[int, Strip | None]  # pieces of a line by the column of the first cell; None for what is not drawn


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
    """Draw what stands in the cells that changed, the foremost first; the others of their lines are left out."""
    height = self.size.height
    spans = [span for span in self._regions_to_spans(self._dirty_regions) if 0 <= span[0] < height]
    self._dirty_regions.clear()
    if not spans:
        return None
    bare: dict[int, int] = {}  # of each line a bit for each changed cell that nothing covers yet
    for y, left, right in spans:
        bare[y] = bare.get(y, 0) | _bits(max(left, 0), right)
    cuts = self.cuts
    chops: list[Chops] = [dict.fromkeys(cuts[y][:-1]) if y in bare else {} for y in range(height)]
    for widget, (region, clip) in self.visible_widgets.items():
        seen = region.intersection(clip)
        cells = _bits(seen.x, seen.right)
        lines = [y for y, changed in bare.items() if seen.y <= y < seen.bottom and changed & cells]
        for band in bands(lines):
            crop = Region(seen.x, band.start, seen.width, len(band))
            _put(widget.render_lines(crop.translate(-region.offset)), crop, bare, cuts, chops)
        bare |= {y: bare[y] & ~cells for y in lines}
    return ChopsUpdate(chops, spans, [cuts_of_line[1:] for cuts_of_line in cuts])


def _put(
    strips: Iterable[Strip], crop: Region, bare: dict[int, int], cuts: Sequence[Sequence[int]], chops: Sequence[Chops]
) -> None:
    """Put of the lines of a widget what is drawn in bare cells: each piece is of one widget, or has no such cell."""
    for y, strip in zip(crop.line_range, strips, strict=False):
        within = [cut for cut in cuts[y] if crop.x <= cut <= crop.right]
        parts = strip.divide([cut - crop.x for cut in within[1:]])
        for (left, right), part in zip(pairwise(within), parts, strict=False):
            if bare[y] & _bits(left, right):
                chops[y][left] = part


def _bits(left: int, right: int) -> int:
    """Return a bit for each of these cells."""
    return ((1 << max(right - left, 0)) - 1) << left


def _get_renders(self: Compositor, crop: Region | None = None) -> Iterator[tuple[Region, Region, Sequence[Strip]]]:
    """Yield what is seen of each widget, the foremost first: what others cover is not drawn."""
    bare = [(1 << self.size.width) - 1] * self.size.height  # of each line a bit for each cell that nothing covers yet
    for widget, (region, clip) in self.visible_widgets.items():
        seen = region.intersection(clip) if crop is None else region.intersection(clip).intersection(crop)
        if seen and _cover(bare, seen):
            yield seen, clip, widget.render_lines(seen.translate(-region.offset))


def _cover(bare: list[int], region: Region) -> bool:
    """Cover a region; return whether any of it was bare."""
    cells = _bits(region.x, region.right)
    news = 0
    for y in range(region.y, min(region.bottom, len(bare))):
        news |= bare[y] & cells
        bare[y] &= ~cells
    return news != 0


def install() -> None:
    """Use them for every partial update of this process."""
    Compositor.render_partial_update = _render_partial_update  # type: ignore[method-assign]
    Compositor._get_renders = _get_renders  # type: ignore[assignment, method-assign]
