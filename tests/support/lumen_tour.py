"""A tour of every pane, list and sheet of the room with the keyboard."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator

from lumen_quiet import rest

from lumen_tui.tui.app import LumenApp

PANES = ("1", "2", "3", "4", "5", "6")
LISTS = ("J", "L", "X", "E", "quotation_mark", "O", "F", "H", "at", "h", "exclamation_mark", "x", "number_sign")
SHEETS = ("dollar_sign", "question_mark", "colon", "t", "i", "P", "ctrl+k")
SEARCHES = ("race", "type:task", "type:session", "type:signal")
_PAGES = 12  # of one list or sheet
_READING = ("Reading", "Looking")  # shown by a sheet until its rows are loaded

View = tuple[str, list[str]]  # the place, and the lines of the screen


class Tour:
    """A tour that visits every row and opens `opens` rows of each list."""

    def __init__(self, app: LumenApp, opens: int) -> None:
        self.app = app
        self.opens = opens

    @property
    def lines(self) -> list[str]:
        screen = self.app.screen
        return ["".join(part.text for part in strip) for strip in screen._compositor.render_strips(screen.size)]

    async def press(self, *keys: str) -> None:
        """Press keys without the pilot, which also waits for widgets of a screen that may be closed by then."""
        await self.app._press_keys(keys)
        await rest()
        for _ in range(200):
            if not any(word in line for word in _READING for line in self.lines[-3:]):
                return
            await asyncio.sleep(0.01)
            await rest()

    async def back(self) -> None:
        """Close whatever is open."""
        while len(self.app.screen_stack) > 1:
            await self.press("escape")

    async def everything(self) -> AsyncGenerator[View, None]:
        """Yield all views, from the room and back to it."""
        yield "room", self.lines
        for steps in (self._panes(), self._lists(), self._sheets(), self._searches()):
            async with contextlib.aclosing(steps) as each:
                async for view in each:
                    yield view

    async def _panes(self) -> AsyncGenerator[View, None]:
        for pane in PANES:
            await self.press(pane, "z")
            yield f"pane {pane}", self.lines
            async for view in self._rows(f"pane {pane}", why=True):
                yield view
            await self.press("z")

    async def _lists(self) -> AsyncGenerator[View, None]:
        for key in LISTS:
            await self.press("6", key)
            yield f"list {key}", self.lines
            async for view in self._rows(f"list {key}"):
                yield view
            await self.back()

    async def _sheets(self) -> AsyncGenerator[View, None]:
        for key in SHEETS:
            await self.press("3", key)
            async for view in self._pages(f"sheet {key}"):
                yield view
            await self.back()

    async def _searches(self) -> AsyncGenerator[View, None]:
        for words in SEARCHES:
            await self.press("S", *("colon" if letter == ":" else letter for letter in words))
            yield f"search {words}", self.lines
            await self.press("enter")
            async for view in self._pages(f"hit of {words}"):
                yield view
            await self.back()

    async def _rows(self, where: str, *, why: bool = False) -> AsyncGenerator[View, None]:
        depth = len(self.app.screen_stack)
        for number in range(self.opens):
            before = self.lines
            for key in ("enter", "w") if why else ("enter",):
                await self.press(key)
                async for view in self._pages(f"{where}, row {number}, {key}"):
                    yield view
                while len(self.app.screen_stack) > depth:
                    await self.press("escape")
            if len(self.app.screen_stack) < depth:
                return  # the row led out of its list
            await self.press("j")
            yield f"{where}, below row {number}", self.lines
            if self.lines == before:
                return
        async for view in self._pages(where):
            yield view

    async def _pages(self, where: str) -> AsyncGenerator[View, None]:
        for _ in range(_PAGES):
            shown = self.lines
            yield where, shown
            await self.press("pagedown")
            if self.lines == shown:
                return


def each_once(view: View, before: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines that no earlier screen had."""
    where, lines = view
    for line in lines:
        if line not in before:
            before.add(line)
            yield where, line
