"""A small app that stands in for the room: its theme, its style sheets, and one screen over it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.text import is_safe
from lumen_tui.store.store import Store
from lumen_tui.tui import theme

STYLES = Path(__file__).resolve().parents[2] / "styles" / "screens.tcss"
NOW = 1_790_000_000.0
HOSTILE = "[/] [@click=app.quit]x[/] \x1b]52;c;QUJD\x07 \x1b[2J \u202egnp.exe \u200b\x9b31m <b>"


class ScreenApp(App[None]):
    """Pushes one screen and keeps what it answers. An editor gets no terminal here: there is none."""

    CSS_PATH = str(STYLES)
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, screen: Screen[Any]) -> None:
        super().__init__()
        self._first = screen
        self.answers: list[Any] = []
        self.copied: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.variable_defaults()

    def on_mount(self) -> None:
        for each in theme.themes():
            self.register_theme(each)
        self.theme = theme.LUMEN
        self.push_screen(self._first, self.answers.append)

    def copy_to_clipboard(self, text: str) -> None:
        self.copied.append(text)

    @contextlib.contextmanager
    def suspend(self) -> Iterator[None]:
        yield

    @property
    def shown(self) -> str:
        """What stands on the screen, as text."""
        height = self.size.height
        lines = self.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in line) for line in lines[:height])

    def harmless(self) -> None:
        """Nothing on the screen could act on the terminal or on the room."""
        for strip in self.screen._compositor.render_strips():
            for segment in strip:
                assert is_safe(segment.text), segment
                assert not segment.control
                assert not (segment.style and segment.style.link)
                assert "@click" not in (segment.style.meta if segment.style else {})


Open = Callable[..., contextlib.AbstractAsyncContextManager[tuple[ScreenApp, Pilot[None]]]]


@pytest.fixture
def room() -> Open:
    """`async with room(screen) as (app, pilot)`: the screen is open and has painted once."""

    @contextlib.asynccontextmanager
    async def opened(screen: Screen[Any], size: tuple[int, int] = (120, 40)) -> AsyncIterator[tuple[ScreenApp, Any]]:
        app = ScreenApp(screen)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            yield app, pilot

    return opened


@pytest.fixture
def until() -> Callable[..., Any]:
    """`await until(pilot, condition)`: go on as soon as a condition holds; fail with the screen after 5 s."""

    async def wait(pilot: Pilot[None], condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 5
        while not condition():
            assert time.monotonic() < deadline, cast("ScreenApp", pilot.app).shown
            await pilot.pause(0.01)

    return wait


class Stopped:
    """A clock that stands still."""

    def now(self) -> float:
        return NOW

    def running(self) -> float:
        return 1.0


@pytest.fixture
def port(tmp_path: Path) -> RemotePort:
    """A port on a state folder with nothing in it yet."""
    root = tmp_path / "state"
    root.mkdir(mode=0o700)
    Store(root).layout.create()
    return RemotePort(root, clock=Stopped())


@pytest.fixture
def hostile() -> str:
    """Text that would act on a terminal, on the markup or on the eye, if it were let."""
    return HOSTILE
