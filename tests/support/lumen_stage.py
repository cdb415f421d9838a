"""One screen of the room in a small app with the room's styles."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textual.app import App
from textual.screen import Screen

from lumen_tui.model.text import is_safe
from lumen_tui.model.themes import LUMEN
from lumen_tui.tui import theme
from lumen_tui.tui.patches.type_ahead import TypeAhead

STYLES = Path(__file__).resolve().parents[2] / "styles" / "screens.tcss"


class Stage(TypeAhead, App[None]):
    """An app that opens `sheet` at the start and keeps its results. An editor gets no terminal here: there is none."""

    CSS_PATH = str(STYLES)
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, sheet: Screen[Any]) -> None:
        super().__init__()
        self.sheet = sheet
        self.answers: list[Any] = []
        self.copied: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.variable_defaults()

    def on_mount(self) -> None:
        for each in theme.themes():
            self.register_theme(each)
        self.theme = LUMEN
        self.push_screen(self.sheet, self.answers.append)

    def copy_to_clipboard(self, text: str) -> None:
        self.copied.append(text)

    @contextlib.contextmanager
    def suspend(self) -> Iterator[None]:
        yield

    @property
    def shown(self) -> str:
        """The content of the screen, as text."""
        lines = self.screen._compositor.render_strips()[: self.size.height]
        return "\n".join("".join(segment.text for segment in line) for line in lines)

    @property
    def unwrapped(self) -> str:
        """The same without spaces, borders and line ends, so that a path of any length is in one piece."""
        return "".join(self.shown.replace("│", "").split())

    def harmless(self) -> None:
        """Assert that nothing on the screen could act on the terminal or on the room."""
        for strip in self.screen._compositor.render_strips():
            for segment in strip:
                assert is_safe(segment.text), segment
                assert not segment.control
                assert not (segment.style and segment.style.link)
                assert "@click" not in (segment.style.meta if segment.style else {})
