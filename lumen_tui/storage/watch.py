"""Waiting for changes: inotify where the system has it, watchfiles elsewhere, polling as the last resort.

One inotify descriptor answers within a millisecond and sleeps until then; watchfiles wakes a hundred times a
second to be as quick (docs/adr/0007).
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.storage.layout import Layout

if TYPE_CHECKING:
    from lumen_tui.storage.inotify import Notices

BUSY, CALM = 0.4, 1.0  # seconds between polls of what no notice covers: events of running workers, the engine's lock
_GATHER = 0.004  # seconds for the rest of a burst to arrive
_WATCHED = ("memory", "loops", "work", "roles", "approvals", "relay", "tasks")  # not below tasks/: they are many


def wait_for_changes(layout: Layout, stop: threading.Event, busy: Callable[[], bool]) -> Iterator[None]:
    """Yield whenever something may have changed, and at least every BUSY or CALM seconds, until `stop` is set."""
    folders = [folder for name in ("", *_WATCHED) if (folder := layout.root / name).is_dir()]
    for way in (_by_inotify, _by_watchfiles):
        if stop.is_set():
            return
        try:
            yield from way(folders, stop, busy)
        except (OSError, RuntimeError, ImportError, AttributeError):
            continue  # not here, or its limit is reached: the next way
    while not stop.wait(BUSY):
        yield


def _by_inotify(folders: list[Path], stop: threading.Event, busy: Callable[[], bool]) -> Iterator[None]:
    from lumen_tui.storage.inotify import Notices  # imported once the first snapshot is on the screen

    notices = Notices(folders)
    try:
        while not stop.is_set():
            _sleep_until_news(notices, BUSY if busy() else CALM)
            yield
    finally:
        notices.close()


def _sleep_until_news(notices: Notices, seconds: float) -> None:
    """Return after the first notice of something other than a temporary file, or after `seconds`."""
    end = time.monotonic() + seconds
    while (remaining := end - time.monotonic()) > 0:
        if select.select([notices], [], [], remaining)[0] and notices.names():
            time.sleep(_GATHER)
            return


def _by_watchfiles(folders: list[Path], stop: threading.Event, busy: Callable[[], bool]) -> Iterator[None]:
    from watchfiles import watch

    notices = watch(
        *folders,
        watch_filter=None,
        recursive=False,
        stop_event=stop,
        step=10,
        debounce=50,
        rust_timeout=int(BUSY * 1000),
        yield_on_timeout=True,
        raise_interrupt=False,
    )
    for _ in notices:
        yield
