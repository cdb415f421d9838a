"""The room for a screen reader or a magnifier: where the terminal's own cursor stands, and what is announced."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.geometry import Offset

from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import humanize, one_line
from lumen_tui.tui.kit.line_list import LineList

_TEXT = 200  # characters


def spoken_place(app: App[Any]) -> Offset:
    """Return where the cursor stands: on the selected row of the list in front, in the field in which one types."""
    focused = app.focused
    if not isinstance(focused, LineList):
        own = focused is None or hasattr(focused, "cursor_screen_offset")
        return app.cursor_position if own or focused is None else focused.content_region.offset
    region, model = focused.content_region, focused.model
    line = max(0, model.cursor - model.top) if len(model) else 0
    return region.offset + Offset(0, min(line, max(0, region.height - 1)))


class Announcer:
    """Says what is new among what needs a person, once each. What was there when the room opened is on the screen."""

    def __init__(self) -> None:
        self._known: set[str] | None = None

    def news(self, snapshot: Snapshot) -> str:
        """Return what to say of a newer snapshot; empty for nothing."""
        known, self._known = self._known, {need.key for need in snapshot.attention}
        new = [need for need in snapshot.attention if known is not None and need.key not in known]
        if not new:
            return ""
        more = f", and {len(new) - 1} more" if len(new) > 1 else ""
        return one_line(f"Needs you: {new[0].need}, {humanize(new[0].text)}{more}", _TEXT)
