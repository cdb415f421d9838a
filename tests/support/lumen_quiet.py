"""Waiting until the room is idle, by what it still has to do.

Textual's pilot takes a process with little CPU time for an idle one. On a busy machine the process may just not be
scheduled, and the effect of a key is then expected before it was handled; on a quiet one each key costs two waits of
20 ms. Here idle means: no callback is ready, no paint is due, and no thread works for the room.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import textual.app
import textual.pilot
from textual._context import active_app

from lumen_tui.model.requests.base import Request
from lumen_tui.tui.bridge import Answer, Bridge

_PASSES = 3  # of the event loop with nothing to do: a callback may make another one ready
_AT_MOST = 10.0  # seconds
_POLL = 0.001  # seconds between two checks of what other threads do

MOST_ROOMS = 3  # each with 16 descriptors, and one of the 128 inotify instances of a user

_rooms: weakref.WeakSet[Bridge] = weakref.WeakSet()  # that were opened in this process and are not freed
_in_hand: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, int] = weakref.WeakKeyDictionary()
_held = 0


async def rest(_least: float = 0, _most: float = 0) -> None:
    """Wait until the application of this context is idle, at most 10 s."""
    loop = asyncio.get_running_loop()
    app = active_app.get(None)
    deadline = time.monotonic() + _AT_MOST
    passes = 0
    while passes < _PASSES and time.monotonic() < deadline:
        waits = _in_hand.get(loop, 0) > _held or _changes(app)
        await asyncio.sleep(_POLL if waits else 0)
        passes = 0 if waits or loop._ready else passes + 1  # type: ignore[attr-defined]
        if passes == _PASSES and _painted(app):
            passes = 0


def _shows(app: Any) -> bool:
    return app is not None and app._running and not app._exit and bool(app.screen_stack)


def _changes(app: Any) -> bool:
    """Return whether a screen is being opened, closed or resized, or waits with its paint for a layout."""
    if not _shows(app):
        return False
    waits = any(getattr(screen, "unpainted", False) for screen in app.screen_stack)
    return waits or bool(app._batch_count or app._resize_event)


def _painted(app: Any) -> bool:
    """Paint now what is due within a sixtieth of a second; return whether something was.

    What changed in a screen behind another one is painted in front, once the one behind has passed it on.
    """
    if not _shows(app) or app._batch_count:
        return False
    due = [screen for screen in app.screen_stack if screen._update_timer._active.is_set()]
    for screen in due:
        screen._on_timer_update()
    return bool(due)


@contextlib.contextmanager
def held(threads: int = 1) -> Iterator[None]:
    """Don't wait for so many threads, which the test itself holds up."""
    global _held
    _held += threads
    yield
    _held -= threads


def begins(loop: asyncio.AbstractEventLoop) -> None:
    """Count a thread that works for this loop."""
    _in_hand[loop] = _in_hand.get(loop, 0) + 1


def ends(loop: asyncio.AbstractEventLoop) -> None:
    """Count a thread as done, once the loop has its result."""
    _in_hand[loop] -= 1


def free_rooms() -> None:
    """Free the rooms that were left, once there are a few: each is a ring of objects, for the garbage collector."""
    if len(_rooms) > MOST_ROOMS:
        gc.collect()


def install() -> None:
    """Let every pilot of this process wait until the room is idle, and count the rooms."""
    textual.app.wait_for_idle = textual.pilot.wait_for_idle = rest  # type: ignore[attr-defined,assignment]
    to_thread = asyncio.to_thread
    submit = Bridge.submit
    begin = Bridge.start

    async def counted_thread(do: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        loop = asyncio.get_running_loop()
        begins(loop)
        try:
            return await to_thread(do, *args, **kwargs)
        finally:
            ends(loop)

    def counted_submit(bridge: Bridge, request: Request, answer: Answer) -> None:
        def answered(*result: Any) -> None:
            ends(bridge._loop)
            answer(*result)

        begins(bridge._loop)
        submit(bridge, request, answered)

    def counted_begin(bridge: Bridge) -> None:
        _rooms.add(bridge)
        begin(bridge)

    asyncio.to_thread = counted_thread
    Bridge.start = counted_begin  # type: ignore[method-assign,assignment]
    Bridge.submit = counted_submit  # type: ignore[method-assign,assignment]
