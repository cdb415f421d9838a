"""The second wall: nothing that could act on a terminal or on the room leaves it, whatever a widget let through."""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from lumen_tui.model.text import is_safe, safe

_ACTING = ("@mouse.down", "@mouse.up")  # what Textual's own scroll bars put into their cells
_HARMLESS = ("scroll_up", "scroll_down", "release", "grab", "noop")


class Guard(LineFilter):
    """Makes hostile characters visible and cuts links, actions and control codes out of every segment."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(_harmless(segment) for segment in segments):
            return segments
        width = sum(segment.cell_length for segment in segments)
        return Segment.adjust_line_length([_cleaned(segment) for segment in segments], width)


def _harmless(segment: Segment) -> bool:
    text, style, control = segment
    return not control and _plain(text) and (style is None or _quiet(style))


def _plain(text: str) -> bool:
    if text.isascii():
        return text.isprintable()
    return is_safe(text) and "\n" not in text and "\t" not in text


@lru_cache(maxsize=2048)
def _quiet(style: Style) -> bool:
    return not style.link and not any(name.startswith("@") and not _own(name, style) for name in style.meta)


def _own(name: str, style: Style) -> bool:
    return name in _ACTING and style.meta[name] in _HARMLESS


def _cleaned(segment: Segment) -> Segment:
    text, style, _ = segment
    shown = safe(text).replace("\n", "␊").replace("\t", " ")
    return Segment(shown, style if style is None or _quiet(style) else _muzzled(style))


def _muzzled(style: Style) -> Style:
    meta = {name: value for name, value in style.meta.items() if not name.startswith("@")}
    return style.clear_meta_and_links() + Style.from_meta(meta)


_TWINS = str.maketrans({
    "…": "~", "·": "-", "▐": "|", "–": "-", "—": "-", "╌": "-", "│": "|", "─": "-", "▌": ">", "•": "-", "━": "=",
    "↑": "^", "↓": "v", "←": "<", "→": ">", "‹": "<", "›": ">", "“": '"', "”": '"', "×": "x", "✓": "v", "␊": "$",
})  # fmt: skip


class AsciiTwins(LineFilter):
    """For `--lean`: the marks of the room's own chrome in ASCII, each as wide as what it stands for."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment if segment.text.isascii() else Segment(segment.text.translate(_TWINS), segment.style)
            for segment in segments
        ]
