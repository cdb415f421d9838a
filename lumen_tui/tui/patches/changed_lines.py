"""Partial updates that draw the lines that changed and no others.

Textual's compositor draws every widget from top to bottom that stands anywhere between the first and the last changed
line, and keeps the changed ones. Where a cursor moves, these are two lines of a list, its frame and the footer: nearly
all of the screen is drawn for four lines. It also draws what each widget covers: the screen, its columns, a frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.strip import Strip


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
    """Yield what is seen of each widget, the foremost first: what others cover is not drawn."""
    bare = [(1 << self.size.width) - 1] * self.size.height  # of each line a bit for each cell that nothing covers yet
    for widget, (region, clip) in self.visible_widgets.items():
        seen = region.intersection(clip) if crop is None else region.intersection(clip).intersection(crop)
        if seen and _cover(bare, seen):
            yield seen, clip, widget.render_lines(seen.translate(-region.offset))


def _cover(bare: list[int], region: Region) -> bool:
    """Cover a region; return whether any of it was bare."""
    cells = ((1 << region.width) - 1) << region.x
    news = 0
    for y in range(region.y, min(region.bottom, len(bare))):
        news |= bare[y] & cells
        bare[y] &= ~cells
    return news != 0


def install() -> None:
    """Use them for every partial update of this process."""
    Compositor.render_partial_update = _render_partial_update  # type: ignore[method-assign]
    Compositor._get_renders = _get_renders  # type: ignore[assignment, method-assign]
