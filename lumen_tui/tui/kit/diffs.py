"""A diff in colours: what comes in the accent, what goes and what is wrong in red, the rest in grey."""

from __future__ import annotations

from textual.content import Content

from lumen_tui.model.text import safe

_INKS = {"+": "$room-accent", "-": "$room-bad", "!": "$room-bad"}


def coloured(text: str) -> Content:
    """The lines of a unified diff; one that begins with `!` says why there is none."""
    lines = [Content.assemble((line, _INKS.get(line[:1], "$room-muted"))) for line in safe(text).split("\n")]
    return Content("\n").join(lines)
