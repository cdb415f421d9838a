"""A screen that was closed is let go with all that it drew.

Textual remembers the colours of a widget in a cache of its class, under the widget's own cache: the last thousand of
them stay, each with every line that it ever drew. That is some 60 KiB for each screen that was opened.

A screen and its widgets refer to each other, so that only the garbage collector frees them. It comes round by itself
once a quarter more has gathered than was there before: up to 20,000 objects, and 30 to 60 ms for a key that comes just
then. What is made meanwhile lies scattered between them, so that their memory does not go back to the system.
"""

from __future__ import annotations

import asyncio
import gc
from functools import lru_cache

from textual._styles_cache import StylesCache
from textual.color import Color
from textual.style import Style

_GONE = 0.5  # seconds: by then a screen that was left is taken apart, and the keys behind it are answered


@lru_cache(1024)
def _colours(base_background: Color, background: Color) -> tuple[Style, Style]:
    return Style(background=base_background + background), Style(background=base_background)


def _get_inner_outer(self: StylesCache, base_background: Color, background: Color) -> tuple[Style, Style]:
    return _colours(base_background, background)


def install() -> None:
    """Use it for every widget of this process."""
    StylesCache.get_inner_outer = _get_inner_outer  # type: ignore[assignment, method-assign]


def collect_soon() -> None:
    """Free a screen that is left now, a moment later: some 20 ms."""
    asyncio.get_running_loop().call_later(_GONE, gc.collect)
