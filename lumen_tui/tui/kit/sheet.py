"""A sheet covers the room but for its top line: that line is all of the room that is drawn behind it.

Textual draws the whole screen below a modal one, and paints all of both again whenever something in it changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.widget import Widget

if TYPE_CHECKING:
    from typing import Self

    _Base = ModalScreen[Any]
else:
    _Base = object


class Sheet(_Base):
    """For a dialog that stands below the room's header."""

    DEFAULT_CLASSES = "sheet"

    def render(self) -> RenderableType:
        header = self.app.screen_stack[0].query("#header")
        return TopLine(header.first()) if header else super().render()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """As Textual has it; it names the regions in which the room changed, and most of them are covered."""
        seen = [region for region in regions if region.y == 0]
        if regions and not seen:
            return self
        top = Region(0, 0, self.size.width, 1)
        return super().refresh(
            *(region.intersection(top) for region in seen), repaint=repaint, layout=layout, recompose=recompose
        )


class TopLine:
    """The first line of a widget of another screen, as it stands there now."""

    def __init__(self, line: Widget) -> None:
        self._line = line

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for strip in self._line.render_lines(Region(0, 0, options.max_width, 1)):
            yield from strip
            yield Segment.line()
