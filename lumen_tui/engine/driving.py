"""An engine of a command's own, for as long as the command needs one and no other drives the folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lumen_tui.engine.engine import Engine, EngineBusy
from lumen_tui.engine.runner import ENDING, Runner, RunOptions


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


@asynccontextmanager
async def driving(root: Path, *, chat: bool = False) -> AsyncIterator[asyncio.Task[int] | None]:
    """Drive the folder within the block where no engine does; None where another one does it already.

    The main agent gets no loops, so that nothing is spent that nobody asked for; with `chat` it answers in the chat.
    Raises StoreError where the folder cannot be used.
    """
    try:
        engine = Engine.open(root, loops=False, chat=chat)
    except EngineBusy:
        yield None
        return
    runner = Runner(engine, RunOptions(signals=False))
    running = asyncio.get_running_loop().create_task(runner.run())
    try:
        yield running
    finally:
        runner.request_stop("done")
        await running
