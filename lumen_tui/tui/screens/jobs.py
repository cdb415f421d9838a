"""Calls that may touch the disk, made from a screen: in a thread, one at a time, ending in a plain sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from textual.screen import Screen

from lumen_tui.engine.outcome import ActionError, Done
from lumen_tui.engine.port import Port
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.store.files import StoreError

T = TypeVar("T")
Say = Callable[[str, bool], None]  # a sentence, and whether it is bad news


class Loader(Generic[T]):
    """Asks for something again and again without ever asking twice at once; the newest question is answered last."""

    def __init__(self, screen: Screen[Any], ask: Callable[[], T], done: Callable[[T], None], say: Say) -> None:
        self._screen = screen
        self._ask = ask
        self._done = done
        self._say = say
        self._busy = False
        self._again = False

    def load(self) -> None:
        """Ask now, or once more after the question that is under way."""
        if self._busy:
            self._again = True
            return
        self._busy = True
        self._screen.run_worker(self._run(), group="load")

    async def _run(self) -> None:
        try:
            self._done(await asyncio.to_thread(self._ask))
        except (ActionError, StoreError) as error:
            self._say(str(error), True)
        self._busy = False
        if self._again:
            self._again = False
            self.load()


async def submit(port: Port, say: Say, verb: str, **arguments: Any) -> Done | None:
    """Carry out one action and say what came of it. None where it could not be carried out."""
    try:
        done = await asyncio.to_thread(port.submit, verb, **arguments)
    except (ActionError, StoreError) as error:
        nearest = getattr(error, "candidates", ())
        say(f"{error} ({', '.join(nearest)})" if nearest else str(error), True)
        return None
    say(done.summary, False)
    return done


async def picture(port: Port) -> Snapshot | None:
    """The newest snapshot, right after an action; None where it cannot be read just now."""
    try:
        return await asyncio.to_thread(port.snapshot)
    except StoreError:
        return None
