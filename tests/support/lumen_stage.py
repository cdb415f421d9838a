"""One screen of the room in a small app with the room's styles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from lumen_tui.tui import theme

STYLES = Path(__file__).resolve().parents[2] / "styles" / "screens.tcss"


class Stage(App[None]):
    """`sheet` is the screen that is opened at the start."""

    CSS_PATH = str(STYLES)

    def __init__(self, sheet: Screen[Any]) -> None:
        super().__init__()
        self.sheet = sheet

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.variable_defaults()

    def on_mount(self) -> None:
        for each in theme.themes():
            self.register_theme(each)
        self.theme = theme.LUMEN
        self.push_screen(self.sheet)

    @property
    def shown(self) -> str:
        lines = self.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in line) for line in lines)


async def until(pilot: Pilot[Any], holds: Callable[[], bool]) -> None:
    """Wait for threads and the disk; fail with the screen after 4 s."""
    for _ in range(200):
        await pilot.pause(0.02)
        if holds():
            return
    raise AssertionError(pilot.app.shown)  # type: ignore[attr-defined]
