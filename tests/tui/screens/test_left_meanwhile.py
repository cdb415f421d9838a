"""What comes back from the disk for a screen that was left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from lumen_robot import until
from lumen_stage import Stage

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.relay import Box
from lumen_tui.model.requests.base import Request
from lumen_tui.storage.files import StoreError
from lumen_tui.tui.kit import jobs
from lumen_tui.tui.screens.relays import RelayScreen

_PASSES = 24  # of the event loop, in which a screen that was left takes its widgets away


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[], asyncio.Future[Any]]:
    """`answer()` is what the thread that was begun last is going to give."""
    asked: list[asyncio.Future[Any]] = []

    async def held(*_call: Any) -> Any:
        asked.append(asyncio.get_running_loop().create_future())
        return await asked[-1]

    monkeypatch.setattr(jobs.asyncio, "to_thread", held)
    return lambda: asked[-1]


async def opened(app: Stage, port: RemotePort) -> RelayScreen:
    screen = RelayScreen(port, 1.0, list[Box])
    await app.push_screen(screen)
    for _ in range(_PASSES):
        await asyncio.sleep(0)
    return screen


@pytest.mark.parametrize("fails", [False, True])
async def test_an_answer_that_comes_while_a_screen_goes_ends_nothing(
    room: Any, port: RemotePort, answer: Callable[[], Any], fails: bool
) -> None:
    async with room(RelayScreen(port, 1.0, list[Box])) as (app, pilot):
        for passes in range(_PASSES):
            screen = await opened(app, port)
            screen.dismiss(None)
            for _ in range(passes):
                await asyncio.sleep(0)
            if not answer().done():
                answer().set_exception(StoreError("the disk is gone")) if fails else answer().set_result([])
            for _ in range(_PASSES):
                await asyncio.sleep(0)
        assert app._exception is None and app.is_running
        await pilot.pause()


async def test_a_sheet_says_the_same_of_a_failure_as_the_room(room: Any, port: RemotePort) -> None:
    """Whatever kind of error it is: a defect behind one key does not take the room with it."""
    failing = [OSError("/state/x.json: the disk is full"), ActionError("which one?", candidates=("a", "b", "c", "d"))]
    said = ["The disk is full (undo)", "which one? (perhaps a, b, c)"]

    def submit(_: Request) -> Done:
        raise failing.pop(0)

    port.submit = submit  # type: ignore[method-assign]
    async with room(RelayScreen(port, 1.0, list[Box])) as (app, pilot):
        for text in said:
            await pilot.press("u")
            await until(pilot, lambda text=text: text in app.shown)
