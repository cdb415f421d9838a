"""The colours of the room: two that come with it, an operator's own, and whether one can read what is drawn in them."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from lumen_tui.model.patterns import lazy_re

LUMEN, LIGHT, PLAIN = "lumen", "lumen-light", "ansi-dark"
TAKEN = (LUMEN, LIGHT, PLAIN)  # names that no file may have

_COLOUR = lazy_re(r"#[0-9a-fA-F]{6}")
# The least contrast with each ground, from 1 to 21. WCAG 2.2 has 4.5 for text and 3 for signs and what is not active:
# https://www.w3.org/TR/WCAG22/#contrast-minimum
_LEAST = {"text": 4.5, "strong": 4.5, "accent": 3.0, "bad": 3.0, "good": 3.0, "muted": 3.0}
_GROUNDS = ("ground", "surface", "panel", "bar")


class Palette(Struct, frozen=True):
    """Colours by their use, each as `#rrggbb`."""

    ground: str = "#0f1217"  # behind the panes
    surface: str = "#12161c"  # behind fields
    panel: str = "#171d25"  # behind the boxes of dialogs
    bar: str = "#131b24"  # behind the first and the last line
    frame: str = "#3b434d"
    text: str = "#c8cdd5"
    strong: str = "#eef1f5"  # the selected row
    muted: str = "#7d8590"
    faint: str = "#444c56"  # rules and gutters
    accent: str = "#e8b45c"  # the focus, and what needs a person
    bad: str = "#e5686f"
    good: str = "#8fbf7f"

    @property
    def dark(self) -> bool:
        """Whether the ground is nearer to black than to white."""
        return contrast(self.ground, "#ffffff") > contrast(self.ground, "#000000")


DARK = Palette()
PALE = Palette(
    ground="#fbfbfa",
    surface="#f4f5f6",
    panel="#e9ebee",
    bar="#e9ebee",
    frame="#c3c8ce",
    text="#32363c",
    strong="#101214",
    muted="#6b727b",
    faint="#b4b9c0",
    accent="#9a5b00",
    bad="#b3261e",
    good="#2f7d32",
)


class ThemeFile(Palette, frozen=True, forbid_unknown_fields=True):
    """What a file may say. A colour that it leaves out is that of its base."""

    base: Literal["lumen", "lumen-light"] = "lumen"


class OwnTheme(Struct, frozen=True):
    """A theme of an operator's, named after its file."""

    name: str
    palette: Palette


def over_base(said: ThemeFile, names: frozenset[str]) -> Palette:
    """Return the colours with these names as the file has them, and all others of its base."""
    own = {name: getattr(said, name) for name in Palette.__struct_fields__ if name in names}
    return msgspec.structs.replace(PALE if said.base == LIGHT else DARK, **own)


def no_colours(palette: Palette) -> dict[str, str]:
    """Return what is wrong with each value that is no colour, by its name."""
    values = msgspec.structs.asdict(palette)
    return {
        name: f'{value[:20]!r} is no colour: write it as "#rrggbb"'
        for name, value in values.items()
        if not _COLOUR.fullmatch(value)
    }


def unreadable(palette: Palette) -> dict[str, str]:
    """Return what is wrong with each colour that cannot be low from a ground that it is drawn on, by its name."""
    wrong = {}
    for name, least in _LEAST.items():
        colour = getattr(palette, name)
        now, ground = min((contrast(colour, getattr(palette, ground)), ground) for ground in _GROUNDS)
        if now < least:
            change = "lighter" if palette.dark else "darker"
            wrong[name] = f"too little contrast with {ground} ({now:.1f} of {least:.1f}): make it {change}"
    return wrong


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21, as WCAG 2.2 defines it."""
    pale, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (pale + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    """Return the relative luminance, 0 to 1: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance."""
    red, green, blue = (_linear(int(colour[place : place + 2], 16) / 255) for place in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)
