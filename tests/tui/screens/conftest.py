"""A small app that stands in for the room: its theme, its style sheets, and one screen over it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from lumen_clock import HandClock
from lumen_stage import Stage
from textual.pilot import Pilot
from textual.screen import Screen

from lumen_tui.engine.port import RemotePort
from lumen_tui.storage.store import Store

NOW = 1_790_000_000.0
HOSTILE = "[/] [@click=app.quit]x[/] \x1b]52;c;QUJD\x07 \x1b[2J \u202egnp.exe \u200b\x9b31m <b>"


Open = Callable[..., contextlib.AbstractAsyncContextManager[tuple[Stage, Pilot[None]]]]


@pytest.fixture
def room() -> Open:
    """`async with room(screen) as (app, pilot)`: the screen is open and has painted once."""

    @contextlib.asynccontextmanager
    async def opened(screen: Screen[Any], size: tuple[int, int] = (120, 40)) -> AsyncIterator[tuple[Stage, Any]]:
        app = Stage(screen)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            yield app, pilot

    return opened


@pytest.fixture
def port(tmp_path: Path) -> RemotePort:
    """A port on a state folder with nothing in it yet."""
    root = tmp_path / "state"
    root.mkdir(mode=0o700)
    Store(root).layout.create()
    return RemotePort(root, clock=HandClock(NOW))


@pytest.fixture
def hostile() -> str:
    """Text that would act on a terminal, on the markup or on the eye, if it were let."""
    return HOSTILE
