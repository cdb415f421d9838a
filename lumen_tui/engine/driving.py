"""An engine of a command's own, for as long as the command needs one and no other drives the folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lumen_tui.engine.engine import Engine, EngineBusy
from lumen_tui.engine.runner import ENDING, Runner, RunOptions
from lumen_tui.storage import lease
from lumen_tui.storage.layout import Layout


class StopSignals:
    """Hears the signals that end the program: the first asks what runs to end, the second leaves at once."""

    def __init__(self) -> None:
        self.number = self.times = 0

    def listen(self) -> None:
        """Hear them from now on instead of dying of them."""
        for number in ENDING:
            asyncio.get_running_loop().add_signal_handler(number, self._hear, number)

    def _hear(self, number: int) -> None:
        self.number = self.number or number
        self.times = self.times + 1

    def forget(self) -> None:
        """Begin again: what was heard was seen to."""
        self.number = self.times = 0

    @property
    def code(self) -> int:
        """The exit code of a program that was ended so."""
        return 128 + self.number


class Driver:
    """Drives a folder while no other engine does. `running` is its engine; None where it has had none yet."""

    def __init__(self, root: Path, *, chat: bool) -> None:
        self._root, self._chat = root, chat
        self._runner: Runner | None = None
        self.running: asyncio.Task[int] | None = None

    def look(self) -> bool:
        """Drive from now on where nobody does any more; return whether it has begun to. Raises StoreError."""
        if self.running is not None or lease.is_held(Layout(self._root)):
            return False
        try:
            engine = Engine.open(self._root, loops=False, chat=self._chat)
        except EngineBusy:
            return False
        self._runner = Runner(engine, RunOptions(signals=False))
        self.running = asyncio.get_running_loop().create_task(self._runner.run())
        return True

    async def end(self) -> None:
        """End its engine."""
        if self._runner is not None and self.running is not None:
            self._runner.request_stop("done")
            await self.running


@asynccontextmanager
async def driving(root: Path, *, chat: bool = False) -> AsyncIterator[Driver]:
    """Drive the folder within the block while no other engine does; whoever waits there looks whether that is so.

    The main agent gets no loops, so that nothing is spent that nobody asked for; with `chat` it answers in the chat.
    Raises StoreError where the folder cannot be used.
    """
    driver = Driver(root, chat=chat)
    driver.look()
    try:
        yield driver
    finally:
        await driver.end()
