"""A room whose program was replaced under it ends with one sentence and no traceback."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lumen_until import until_async

from lumen_tui.storage import integrity
from lumen_tui.tui.app import LumenApp
from lumen_tui.tui.handlers.running import ScreensHandler

WHY = "the program was replaced while it ran; start it again"


def _gone(_: object) -> None:
    raise ModuleNotFoundError("No module named 'lumen_tui.tui.screens.help'")


async def test_a_key_whose_screen_is_gone_ends_the_room_with_the_reason(
    open_room: Any, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr(ScreensHandler, "do_help", _gone)
    async with open_room() as room:
        monkeypatch.setattr(integrity, "_STARTED", (1, 1, 1))
        app: LumenApp = room.app
        pressing = asyncio.create_task(room.pilot.press("question_mark"))  # waits for a screen that will not come
        await until_async(lambda: app.return_code == 1)
        pressing.cancel()
    assert capsys.readouterr().err.strip() == f"lumen-tui: {WHY}"


async def test_the_same_error_with_the_program_in_place_is_shown_as_it_is(open_room: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(ScreensHandler, "do_help", _gone)
    with pytest.raises(ModuleNotFoundError):
        async with open_room() as room:
            await room.pilot.press("question_mark")


async def test_an_action_that_breaks_tells_it_too(open_room: Any, monkeypatch: Any) -> None:
    async with open_room() as room:
        monkeypatch.setattr(room.port, "submit", lambda *_, **__: _gone(None))
        monkeypatch.setattr(integrity, "_STARTED", (1, 1, 1))
        await room.press("u")
        await room.until(lambda: WHY in room.footer)
