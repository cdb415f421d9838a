"""The room's colours and shapes: a near-black ground, one warm accent, greys for the rest, red for what is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import PurePath

import msgspec
from rich.style import Style
from textual.theme import Theme

from lumen_tui.model.tasks import Status
from lumen_tui.model.text import one_line
from lumen_tui.storage.shipped import shipped

LUMEN, LIGHT, PLAIN = "lumen", "lumen-light", "ansi-dark"


class Ink(msgspec.Struct, frozen=True):
    """The styles that text is drawn in. None has a ground of its own."""

    text: Style
    strong: Style
    muted: Style
    faint: Style
    accent: Style
    loud: Style  # the accent, bold: wants a person
    bad: Style
    heading: Style
    good: Style  # works as it should, bold


class Shapes(msgspec.Struct, frozen=True):
    """The marks that carry a state without colour."""

    status: dict[Status, str]
    waits: str = "◇"
    paused: str = "‖"
    need: str = "▲"
    cursor: str = "▌"
    mark: str = "◆"
    cursor_mark: str = "◈"
    dot: str = "•"
    gutter: str = "│"
    rule: str = "╌"
    bar: str = "━"
    levels: str = "▁▂▃▄▅▆▇█"
    sep: str = "·"
    tick: str = "┆"
    spin: str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"  # of what runs, a picture a second; nothing turns where it is empty
    dash: str = "–"

    @property
    def failed(self) -> str:
        """The mark of what failed."""
        return self.status[Status.FAILED]


SHAPES = Shapes(
    {
        Status.WAITING: "◇", Status.ASKING: "◇", Status.AWAITING: "○", Status.RUNNING: "●", Status.STALLED: "◐",
        Status.QUEUED: "○", Status.DONE: "✓", Status.FAILED: "✗", Status.LOST: "◌", Status.CANCELLED: "⊘",
    }
)  # fmt: skip
ASCII = Shapes(
    {
        Status.WAITING: "?", Status.ASKING: "?", Status.AWAITING: "o", Status.RUNNING: "*", Status.STALLED: "~",
        Status.QUEUED: "o", Status.DONE: "v", Status.FAILED: "x", Status.LOST: "!", Status.CANCELLED: "-",
    },
    waits="?", paused="=", need="!", cursor=">", mark="+", cursor_mark="#", dot="-", gutter="|", rule="-", bar="#",
    levels="_.-=+*%#", sep="-", tick="|", spin="", dash="-",
)  # fmt: skip


class Appearance(msgspec.Struct, frozen=True):
    """What a renderer needs to draw."""

    ink: Ink
    shapes: Shapes = SHAPES
    spoken: bool = False  # each state is a word, for whoever has the screen read to them


def _coloured(text: str, strong: str, muted: str, faint: str, accent: str, bad: str, good: str) -> Ink:
    return Ink(
        text=Style(color=text),
        strong=Style(color=strong, bold=True),
        muted=Style(color=muted),
        faint=Style(color=faint),
        accent=Style(color=accent),
        loud=Style(color=accent, bold=True),
        bad=Style(color=bad),
        heading=Style(color=text, bold=True),
        good=Style(color=good, bold=True),
    )


_DARK = _coloured("#c8cdd5", "#eef1f5", "#7d8590", "#444c56", "#e8b45c", "#e5686f", "#8fbf7f")
_PALE = _coloured("#32363c", "#101214", "#6b727b", "#b4b9c0", "#9a5b00", "#b3261e", "#2f7d32")
_MONO = Ink(
    text=Style(), strong=Style(bold=True), muted=Style(dim=True), faint=Style(dim=True),
    accent=Style(bold=True), loud=Style(bold=True), bad=Style(bold=True), heading=Style(bold=True),
    good=Style(bold=True),
)  # fmt: skip
_ANSI = Ink(
    text=Style(), strong=Style(bold=True), muted=Style(color="bright_black"), faint=Style(color="bright_black"),
    accent=Style(color="yellow"), loud=Style(color="yellow", bold=True), bad=Style(color="red"),
    heading=Style(bold=True), good=Style(color="green", bold=True),
)  # fmt: skip

# Names that styles/*.tcss may use, with what they are where a theme does not say.
_FALLBACK = {
    "room-frame": "ansi_bright_black", "room-bar": "ansi_default", "room-muted": "ansi_bright_black",
    "room-text": "ansi_default", "room-accent": "ansi_yellow", "room-bad": "ansi_red",
}  # fmt: skip
_DARK_NAMES = {
    "room-frame": "#3b434d", "room-bar": "#131b24", "room-muted": "#7d8590",
    "room-text": "#c8cdd5", "room-accent": "#e8b45c", "room-bad": "#e5686f",
}  # fmt: skip
_PALE_NAMES = {
    "room-frame": "#c3c8ce", "room-bar": "#e9ebee", "room-muted": "#6b727b",
    "room-text": "#32363c", "room-accent": "#9a5b00", "room-bad": "#b3261e",
}  # fmt: skip


def themes() -> tuple[Theme, Theme]:
    """Return the room's own two themes."""
    dark = Theme(
        name=LUMEN, primary="#e8b45c", secondary="#7d8590", accent="#e8b45c", warning="#e8b45c", error="#e5686f",
        success="#c8cdd5", foreground="#c8cdd5", background="#0f1217", surface="#12161c", panel="#171d25",
        dark=True, text_alpha=1.0,
        variables={
            **_DARK_NAMES, "input-cursor-background": "#e8b45c", "input-cursor-foreground": "#0f1217",
            "input-selection-background": "#e8b45c 30%", "border": "#3b434d", "border-blurred": "#3b434d",
            "block-cursor-background": "#e8b45c", "block-cursor-foreground": "#0f1217",
        },
    )  # fmt: skip
    pale = Theme(
        name=LIGHT, primary="#9a5b00", secondary="#6b727b", accent="#9a5b00", warning="#9a5b00", error="#b3261e",
        success="#32363c", foreground="#32363c", background="#fbfbfa", surface="#f4f5f6", panel="#e9ebee",
        dark=False, text_alpha=1.0, variables={**_PALE_NAMES, "border": "#c3c8ce", "border-blurred": "#c3c8ce"},
    )  # fmt: skip
    return dark, pale


def slip_in(name: str, known: Iterable[str]) -> str:
    """Return what is wrong with the name of a theme, with the nearest that is right; empty where nothing is."""
    if name in (names := sorted(known)):
        return ""
    from difflib import get_close_matches  # only here: the first paint does not wait for it

    near = get_close_matches(name, names, 1)
    instead = f"did you mean {near[0]}?" if near else f"there are {', '.join(names[:4])} and others"
    return f"[room] theme: there is no theme {one_line(name, 40)!r}; {instead}"


def variable_defaults() -> dict[str, str]:
    """Values of the room's colour names for themes that do not define them."""
    return dict(_FALLBACK)


def without_colour() -> bool:
    """Return whether the operator asked for none (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def look(theme: Theme, lean: bool, mono: bool, *, spoken: bool = False) -> Appearance:
    """Return what to draw with under `theme`; `lean` means ASCII shapes, `spoken` that each state is a word."""
    shapes = ASCII if lean else SHAPES
    if mono:
        return Appearance(_MONO, shapes, spoken)
    if theme.ansi:
        return Appearance(_ANSI, shapes)
    if theme.name in (LUMEN, LIGHT):
        return Appearance(_DARK if theme.dark else _PALE, shapes)
    return Appearance(_foreign(theme), shapes)


def _foreign(theme: Theme) -> Ink:
    """Return the ink for one of Textual's own themes: the room's greys, the theme's text, accent and error."""
    base = theme.to_color_system().generate()
    muted, faint = ("#7d8590", "#4c545e") if theme.dark else ("#6b727b", "#b4b9c0")
    return _coloured(
        base["foreground"][:7],
        base["foreground"][:7],
        muted,
        faint,
        base["accent"][:7],
        base["error"][:7],
        base["success"][:7],
    )


def style_files() -> list[str | PurePath]:
    """Return every style sheet: inside the package in a wheel, beside it in a checkout."""
    return [*sorted(shipped("styles").glob("*.tcss"))]


NO_APPEARANCE = Appearance(_DARK)  # for a list outside the room's own app
