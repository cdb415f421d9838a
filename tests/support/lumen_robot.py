"""A robot that uses a room as a person does: it presses keys and reads the screen."""

from __future__ import annotations

from typing import Any

from lumen_until import Fact, until_async
from textual.app import App
from textual.pilot import Pilot


def lines(app: App[Any]) -> list[str]:
    """Return the lines of the screen, as text."""
    strips = app.screen._compositor.render_strips(app.screen.size)
    return ["".join(segment.text for segment in strip) for strip in strips]


def screen_text(app: App[Any]) -> str:
    """Return the content of the screen, as text."""
    return "\n".join(lines(app))


async def until(pilot: Pilot[Any], fact: Fact) -> None:
    """Wait for threads and the disk; fail with the screen."""
    await until_async(fact, lambda: screen_text(pilot.app), sleep=pilot.pause)


class Robot:
    """Reads the screen and presses keys."""

    def __init__(self, app: Any, pilot: Pilot[Any]) -> None:
        self.app, self.pilot = app, pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def settle(self) -> None:
        """Wait until the room has nothing in hand."""
        await self.pilot.pause()

    async def until(self, fact: Fact) -> None:
        await until(self.pilot, fact)

    async def sees(self, *words: str) -> None:
        await self.until(lambda: all(word in self.text for word in words))

    @property
    def lines(self) -> list[str]:
        return lines(self.app)

    @property
    def text(self) -> str:
        return screen_text(self.app)
