"""Calls that may touch the disk, made from a screen: in a thread, one at a time, ending in a plain sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from textual.app import App
from textual.worker import Worker

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.engine.port import Port
from lumen_tui.model.requests.base import Request
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.storage.files import StoreError
from lumen_tui.tui.bridge import ActionRefusal, carry_out
from lumen_tui.tui.host import Host, host_of
from lumen_tui.tui.patches.type_ahead import TypeAhead

T = TypeVar("T")
Answer = tuple[Done | None, ActionRefusal]  # what was done, or why not


class Asks(Protocol):
    """A screen that may be left before its answer comes."""

    @property
    def app(self) -> App[Any]:
        """The application."""

    @property
    def there(self) -> bool:
        """Whether it is still open."""


class Says(Asks, Protocol):
    """One that has a line for a sentence."""

    def say(self, text: str, bad: bool = False) -> None:
        """Show a sentence."""

    def run_worker(self, work: Coroutine[None, None, None], *, group: str = ...) -> Worker[None]:
        """Run a coroutine that ends with the screen."""


async def looked(screen: Asks, ask: Callable[..., T], *arguments: Any, holds_keys: bool = True) -> T:
    """Return what `ask` gives, from a thread. Where the screen was left meanwhile its job ends here: nobody reads it.

    What is typed meanwhile waits for it, unless `holds_keys` is false.
    """
    app = screen.app
    try:
        with app.awaited() if holds_keys and isinstance(app, TypeAhead) else nullcontext():
            return await asyncio.to_thread(ask, *arguments)
    finally:
        if not screen.there:
            raise asyncio.CancelledError


class Loader(Generic[T]):
    """Asks for something again and again without ever asking twice at once; the newest question is answered last.

    `failed` gets the sentence where something cannot be read; else the screen says it.
    """

    def __init__(
        self, screen: Says, ask: Callable[[], T], done: Callable[[T], None], failed: Callable[[str], None] | None = None
    ) -> None:
        self._screen = screen
        self._ask = ask
        self._done = done
        self._failed = failed or partial(screen.say, bad=True)
        self._busy = False
        self._again = False
        self._shown = False  # before its first rows a list has nothing that a key could be about

    def load(self) -> None:
        """Ask now, or once more after the question that is under way."""
        if self._busy:
            self._again = True
            return
        self._busy = True
        self._screen.run_worker(self._run(), group="load")

    async def _run(self) -> None:
        try:
            self._done(await looked(self._screen, self._ask, holds_keys=not self._shown))
            self._shown = True
        except (ActionError, StoreError) as error:
            self._failed(str(error))
        self._busy = False
        if self._again:
            self._again = False
            self.load()


async def submit(screen: Says, port: Port, request: Request) -> Done | None:
    """Carry out one action and say what came of it: in the room where the screen was left meanwhile.

    None where it could not be carried out.
    """
    host = host_of(screen.app)
    if host is None:
        done, refusal = await asyncio.to_thread(carry_out, port, request)
    else:
        done, refusal = await _in_turn(host, request)
    if not screen.there:
        raise asyncio.CancelledError
    screen.say(done.summary if done else refusal, bad=done is None)
    return done


def _in_turn(host: Host, request: Request) -> asyncio.Future[Answer]:
    """Carry out one action after those that were asked for before it, whoever waits for its answer."""
    answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def give(done: Done | None, refusal: ActionRefusal) -> None:
        if not answered.done():
            answered.set_result((done, refusal))

    host.submit(request, lambda done: give(done, ActionRefusal("")), lambda refusal: give(None, refusal))
    return answered


async def newest_snapshot(screen: Says, port: Port) -> Snapshot | None:
    """Return the newest snapshot, right after an action; None where it cannot be read just now."""
    try:
        return await looked(screen, port.snapshot, holds_keys=False)
    except StoreError:
        return None
