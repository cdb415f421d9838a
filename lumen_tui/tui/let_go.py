"""A screen that was closed is let go with all that it drew.

Textual remembers the colours of a widget in a cache of its class, under the widget's own cache: the last thousand of
them stay, each with every line that it ever drew. That is some 60 KiB for each screen that was opened.
"""

from __future__ import annotations

from functools import lru_cache

from textual._styles_cache import StylesCache
from textual.color import Color
from textual.style import Style


@lru_cache(1024)
def _colours(base_background: Color, background: Color) -> tuple[Style, Style]:
    return Style(background=base_background + background), Style(background=base_background)


def _get_inner_outer(self: StylesCache, base_background: Color, background: Color) -> tuple[Style, Style]:
    return _colours(base_background, background)


def install() -> None:
    """Use it for every widget of this process."""
    StylesCache.get_inner_outer = _get_inner_outer  # type: ignore[assignment, method-assign]
