"""Wait for a fact with a deadline. A failure says what was awaited and what was there instead."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator

SECONDS = 60.0
Fact = Callable[[], object]


def until(
    fact: Fact, instead: Fact = str, seconds: float = SECONDS, sleep: Callable[[float], object] = time.sleep
) -> None:
    """Wait until `fact` returns something true. `instead` describes what is there when it does not."""
    for pause in _pauses(fact, instead, seconds):
        sleep(pause)


async def until_async(
    fact: Fact,
    instead: Fact = str,
    seconds: float = SECONDS,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> None:
    """Wait as `until` does while the event loop goes on."""
    for pause in _pauses(fact, instead, seconds):
        await sleep(pause)


def _pauses(fact: Fact, instead: Fact, seconds: float) -> Iterator[float]:
    """Yield the seconds to sleep; longer where the look itself takes long, as one at all processes does."""
    deadline = time.monotonic() + seconds
    while True:
        start = time.monotonic()
        if fact():
            return
        now = time.monotonic()
        assert now < deadline, f"not within {seconds:g} s: {_source(fact)}\nthere is: {instead() or 'nothing to tell'}"
        yield min(0.1, max(0.005, 3 * (now - start)))


def _source(fact: Fact) -> str:
    """Return the source of the lines with the lambda or function, or its name."""
    try:
        return inspect.getsource(fact).strip()
    except (OSError, TypeError):
        return repr(fact)


class _Described:
    def instead(self) -> object:
        raise NotImplementedError


class Awaited(_Described):
    """What a test drives in other processes: `until` fails with what `instead` describes."""

    def until(self, fact: Fact, seconds: float = SECONDS) -> None:
        until(fact, self.instead, seconds)


class AwaitedInLoop(_Described):
    """The same in an event loop that goes on meanwhile."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def until(self, fact: Fact, seconds: float = SECONDS) -> None:
        await until_async(fact, self.instead, seconds, self.sleep)
