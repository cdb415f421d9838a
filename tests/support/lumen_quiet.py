"""A room at rest, by what it has in hand.

Textual's pilot takes a process that uses little of the processor for one that has nothing to do. On a busy machine that
is a process which is not let on, and a key is then looked for before it was handled; on a quiet one each key costs
two waits of 20 ms. Here rest is: no callback is ready, no paint is due, and no thread works for the room.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import textual.app
import textual.pilot
from textual._context import active_app

from lumen_tui.tui.bridge import Answer, Bridge

_PASSES = 3  # of the event loop with nothing to do: a callback may make another one ready
_AT_MOST = 10.0  # seconds
_LOOK = 0.001  # seconds between two looks at what other threads do

_in_hand: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, int] = weakref.WeakKeyDictionary()
_held = 0


async def rest(_least: float = 0, _most: float = 0) -> None:
    """Wait until the application of this context has nothing in hand, at most 10 s."""
    loop, app = asyncio.get_running_loop(), active_app.get(None)
    ends, passes = time.monotonic() + _AT_MOST, 0
    while passes < _PASSES and time.monotonic() < ends:
        waits = _in_hand.get(loop, 0) > _held or _changes(app)
        await asyncio.sleep(_LOOK if waits else 0)
        passes = 0 if waits or loop._ready else passes + 1  # type: ignore[attr-defined]
        if passes == _PASSES and _painted(app):
            passes = 0


def _shows(app: Any) -> bool:
    return app is not None and app._running and not app._exit and bool(app.screen_stack)


def _changes(app: Any) -> bool:
    """A screen comes or goes, or has another size in a moment."""
    return _shows(app) and bool(app._batch_count or app._resize_event)


def _painted(app: Any) -> bool:
    """Paint what is due now rather than within a sixtieth of a second; false where nothing was."""
    if not _shows(app) or app._batch_count:
        return False
    timer = app.screen._update_timer
    if not timer._active.is_set():
        return False
    app.screen._on_timer_update()
    return True


@contextlib.contextmanager
def held(threads: int = 1) -> Iterator[None]:
    """So many threads wait until the test lets them go on: they keep nobody from rest."""
    global _held
    _held += threads
    yield
    _held -= threads


def begins(loop: asyncio.AbstractEventLoop) -> None:
    """A thread has something to do for this loop."""
    _in_hand[loop] = _in_hand.get(loop, 0) + 1


def ends(loop: asyncio.AbstractEventLoop) -> None:
    """It is done, and the loop has it."""
    _in_hand[loop] -= 1


def install() -> None:
    """Let every pilot of this process wait for rest."""
    textual.app.wait_for_idle = textual.pilot.wait_for_idle = rest  # type: ignore[attr-defined]
    to_thread, submit = asyncio.to_thread, Bridge.submit

    async def counted_thread(do: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        loop = asyncio.get_running_loop()
        begins(loop)
        try:
            return await to_thread(do, *args, **kwargs)
        finally:
            ends(loop)

    def counted_submit(bridge: Bridge, verb: str, arguments: dict[str, Any], answer: Answer) -> None:
        def answered(*said: Any) -> None:
            ends(bridge._loop)
            answer(*said)

        begins(bridge._loop)
        submit(bridge, verb, arguments, answered)

    asyncio.to_thread = counted_thread
    Bridge.submit = counted_submit  # type: ignore[method-assign]
