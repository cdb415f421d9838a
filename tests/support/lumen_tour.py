"""A walk through every pane, list and sheet of the room, as a person with the keyboard takes it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

from lumen_quiet import rest

from lumen_tui.tui.app import LumenApp

PANES = ("1", "2", "3", "4", "5", "6")
LISTS = ("J", "L", "X", "E", "b", "O", "F", "H", "o", "r", "exclamation_mark", "A", "K")
SHEETS = ("dollar_sign", "question_mark", "colon", "t", "i", "P", "ctrl+k")
SEARCHES = ("race", "type:task", "type:session", "type:signal")
_PAGES = 12  # of one list or sheet
_READING = ("Reading", "Looking")  # what a sheet says until its rows are there

Seen = tuple[str, list[str]]  # where, and the lines of the screen


class Tour:
    """`opens` says how many rows of each list are opened; all of them are looked at."""

    def __init__(self, app: LumenApp, opens: int) -> None:
        self.app, self.opens = app, opens

    @property
    def lines(self) -> list[str]:
        screen = self.app.screen
        return ["".join(part.text for part in strip) for strip in screen._compositor.render_strips(screen.size)]

    async def press(self, *keys: str) -> None:
        """Without the pilot, which also waits for the answer of each widget of a screen that may be gone by then."""
        await self.app._press_keys(keys)
        await rest()
        for _ in range(200):
            if not any(word in line for word in _READING for line in self.lines[-3:]):
                return
            await asyncio.sleep(0.01)
            await rest()

    async def back(self) -> None:
        """Leave whatever is open."""
        while len(self.app.screen_stack) > 1:
            await self.press("escape")

    async def everything(self) -> AsyncIterator[Seen]:
        """All of it, from the room and back to it."""
        yield "room", self.lines
        for steps in (self._panes(), self._lists(), self._sheets(), self._searches()):
            async with contextlib.aclosing(steps) as each:
                async for seen in each:
                    yield seen

    async def _panes(self) -> AsyncIterator[Seen]:
        for pane in PANES:
            await self.press(pane, "z")
            yield f"pane {pane}", self.lines
            async for seen in self._rows(f"pane {pane}", why=True):
                yield seen
            await self.press("z")

    async def _lists(self) -> AsyncIterator[Seen]:
        for key in LISTS:
            await self.press("6", key)
            yield f"list {key}", self.lines
            async for seen in self._rows(f"list {key}"):
                yield seen
            await self.back()

    async def _sheets(self) -> AsyncIterator[Seen]:
        for key in SHEETS:
            await self.press("3", key)
            async for seen in self._pages(f"sheet {key}"):
                yield seen
            await self.back()

    async def _searches(self) -> AsyncIterator[Seen]:
        for words in SEARCHES:
            await self.press("S", *("colon" if letter == ":" else letter for letter in words))
            yield f"search {words}", self.lines
            await self.press("enter")
            async for seen in self._pages(f"hit of {words}"):
                yield seen
            await self.back()

    async def _rows(self, where: str, *, why: bool = False) -> AsyncIterator[Seen]:
        depth = len(self.app.screen_stack)
        for number in range(self.opens):
            before = self.lines
            for key in ("enter", "w") if why else ("enter",):
                await self.press(key)
                async for seen in self._pages(f"{where}, row {number}, {key}"):
                    yield seen
                while len(self.app.screen_stack) > depth:
                    await self.press("escape")
            if len(self.app.screen_stack) < depth:
                return  # the row led out of its list
            await self.press("j")
            yield f"{where}, below row {number}", self.lines
            if self.lines == before:
                return
        async for seen in self._pages(where):
            yield seen

    async def _pages(self, where: str) -> AsyncIterator[Seen]:
        for _ in range(_PAGES):
            shown = self.lines
            yield where, shown
            await self.press("pagedown")
            if self.lines == shown:
                return


def each_once(seen: Seen, before: set[str]) -> Iterator[tuple[str, str]]:
    """The lines that no earlier screen had."""
    where, lines = seen
    for line in lines:
        if line not in before:
            before.add(line)
            yield where, line
