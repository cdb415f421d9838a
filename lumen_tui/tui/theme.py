"""The room's colours and shapes: a near-black ground, one warm accent, greys for the rest, red for what is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

import msgspec
from rich.style import Style
from textual.app import App
from textual.theme import BUILTIN_THEMES, Theme

from lumen_tui.model.tasks import Status
from lumen_tui.model.text import one_line
from lumen_tui.model.themes import DARK, LIGHT, LUMEN, PALE, OwnTheme, Palette
from lumen_tui.storage.shipped import shipped


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
    alert: str = "▲"
    cursor: str = "▌"
    chosen: str = "▌"  # of a list in which nobody types: the row that enter takes
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
    quotes: str = "│"  # before each line that somebody else wrote
    runs: str = "$"
    added: str = "+"  # of a line of a diff
    removed: str = "-"
    size: int = 1  # cells of a column of them

    @property
    def failed(self) -> str:
        """The mark of what failed."""
        return self.status[Status.FAILED]

    def gauge(self, share: float, size: int) -> str:
        """Return a bar of `size` cells, filled to a share of them."""
        filled = max(0, min(size, round(share * size)))
        return self.bar * filled + self.rule * (size - filled)


SHAPES = Shapes(
    {
        Status.WAITING: "◇", Status.ASKING: "◇", Status.AWAITING: "○", Status.RUNNING: "●", Status.STALLED: "◐",
        Status.QUEUED: "○", Status.DONE: "✓", Status.FAILED: "✗", Status.LOST: "◌", Status.CANCELLED: "⊘",
    }
)  # fmt: skip
ASCII = Shapes(
    {
        Status.WAITING: "?",
        Status.ASKING: "?",
        Status.AWAITING: "o",
        Status.RUNNING: "*",
        Status.STALLED: "~",
        Status.QUEUED: "o",
        Status.DONE: "v",
        Status.FAILED: "x",
        Status.LOST: "!",
        Status.CANCELLED: "-",
    },
    waits="?",
    paused="=",
    need="!",
    alert="!",
    cursor=">",
    chosen=">",
    quotes="|",
    mark="+",
    cursor_mark="#",
    dot="-",
    gutter="|",
    rule="-",
    bar="#",
    levels="_.-=+*%#",
    sep="-",
    tick="|",
    spin="",
    dash="-",
)

# Each sign as a word, for whoever has the screen read aloud. What only repeats a word or a figure beside it is nothing.
WORDS = Shapes(
    {
        Status.WAITING: "approval", Status.ASKING: "question", Status.AWAITING: "awaiting", Status.RUNNING: "running",
        Status.STALLED: "stalled", Status.QUEUED: "queued", Status.DONE: "done", Status.FAILED: "failed",
        Status.LOST: "lost", Status.CANCELLED: "cancelled",
    },
    waits="asks you", paused="paused", need="", alert="warning", cursor=">", chosen="chosen", mark="marked",
    cursor_mark="marked", dot="unread", gutter="", rule="", bar="", levels="", sep="-", tick="", spin="", dash="",
    quotes="says", runs="runs", added="added", removed="removed", size=9,
)  # fmt: skip


class Appearance(msgspec.Struct, frozen=True):
    """What a renderer needs to draw."""

    ink: Ink
    shapes: Shapes = SHAPES
    spoken: bool = False  # each state is a word, for whoever has the screen read to them


def _coloured(palette: Palette) -> Ink:
    return Ink(
        text=Style(color=palette.text),
        strong=Style(color=palette.strong, bold=True),
        muted=Style(color=palette.muted),
        faint=Style(color=palette.faint),
        accent=Style(color=palette.accent),
        loud=Style(color=palette.accent, bold=True),
        bad=Style(color=palette.bad),
        heading=Style(color=palette.text, bold=True),
        good=Style(color=palette.good, bold=True),
    )


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


class RoomTheme(Theme):
    """A theme that has a colour for all that the room draws."""

    def __init__(self, name: str, palette: Palette) -> None:
        self.palette = palette
        super().__init__(
            name=name,
            primary=palette.accent,
            secondary=palette.muted,
            accent=palette.accent,
            warning=palette.accent,
            error=palette.bad,
            success=palette.text,
            foreground=palette.text,
            background=palette.ground,
            surface=palette.surface,
            panel=palette.panel,
            dark=palette.dark,
            text_alpha=1.0,
            variables=_variables(palette),
        )


def _variables(palette: Palette) -> dict[str, str]:
    return {
        "room-frame": palette.frame,
        "room-bar": palette.bar,
        "room-muted": palette.muted,
        "room-text": palette.text,
        "room-accent": palette.accent,
        "room-bad": palette.bad,
        "input-cursor-background": palette.accent,
        "input-cursor-foreground": palette.ground,
        "input-selection-background": f"{palette.accent} 30%",
        "border": palette.frame,
        "border-blurred": palette.frame,
        "block-cursor-background": palette.accent,
        "block-cursor-foreground": palette.ground,
    }


def themes() -> tuple[RoomTheme, RoomTheme]:
    """Return the room's own two themes."""
    return RoomTheme(LUMEN, DARK), RoomTheme(LIGHT, PALE)


def offer(app: App[Any], own: Iterable[OwnTheme]) -> None:
    """Offer Textual's themes and the room's, with an operator's own over them. One that went stays while it is used."""
    shipped = {**BUILTIN_THEMES, **{each.name: each for each in themes()}}
    offered = {**shipped, **{each.name: RoomTheme(each.name, each.palette) for each in own}}
    for name in app.available_themes.keys() - offered.keys() - {app.theme}:
        app.unregister_theme(name)
    for each in offered.values():
        app.register_theme(each)


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
    """Return what to draw with under `theme`; `lean` means ASCII shapes, `spoken` that each is a word."""
    shapes = WORDS if spoken else ASCII if lean else SHAPES
    if mono:
        return Appearance(_MONO, shapes, spoken)
    if theme.ansi:
        return Appearance(_ANSI, shapes)
    return Appearance(_coloured(theme.palette if isinstance(theme, RoomTheme) else _foreign(theme)), shapes)


def _foreign(theme: Theme) -> Palette:
    """Return the palette for one of Textual's own themes: the room's greys, the theme's text, accent and error."""
    base = theme.to_color_system().generate()
    text, accent, bad, good = (base[name][:7] for name in ("foreground", "accent", "error", "success"))
    muted, faint = ("#7d8590", "#4c545e") if theme.dark else (PALE.muted, PALE.faint)
    return Palette(text=text, strong=text, muted=muted, faint=faint, accent=accent, bad=bad, good=good)


def style_files() -> list[str | PurePath]:
    """Return every style sheet: inside the package in a wheel, beside it in a checkout."""
    folder = shipped("styles")
    return [folder / name for name in sorted(os.listdir(folder)) if name.endswith(".tcss")]


NO_APPEARANCE = Appearance(_coloured(DARK))  # for a list outside the room's own app
