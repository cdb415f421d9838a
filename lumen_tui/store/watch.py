"""Waiting for changes: inotify where the system has it, watchfiles elsewhere, a look at intervals in need.

One inotify descriptor answers within a millisecond and sleeps until then; watchfiles wakes a hundred times a
second to be as quick (docs/adr/0007).
"""

from __future__ import annotations

import os
import select
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lumen_tui.store.layout import Layout

BUSY, CALM = 0.4, 1.0  # seconds to a look at what no notice tells: the events of running workers, the engine's lock
_GATHER = 0.004  # seconds for the rest of a burst to arrive
_WATCHED = ("memory", "loops", "work", "roles", "approvals", "relay", "tasks")  # not below tasks/: they are many
# inotify(7)
_MODIFY, _MOVED, _CREATE, _DELETE, _CLOSE_WRITE = 0x2, 0xC0, 0x100, 0x200, 0x8
_MASK = _MODIFY | _MOVED | _CREATE | _DELETE | _CLOSE_WRITE
_EVENT_HEADER = struct.Struct("iIII")


def wait_for_changes(layout: Layout, stop: threading.Event, busy: Callable[[], bool]) -> Iterator[None]:
    """Yield whenever something may have changed, and at least every BUSY or CALM seconds, until `stop` is set."""
    folders = [folder for name in ("", *_WATCHED) if (folder := layout.root / name).is_dir()]
    for way in (_by_inotify, _by_watchfiles):
        try:
            yield from way(folders, stop, busy)
        except (OSError, RuntimeError, ImportError, AttributeError):
            continue  # not here, or its limit is reached: the next way
    while not stop.wait(BUSY):
        yield


def _by_inotify(folders: list[Path], stop: threading.Event, busy: Callable[[], bool]) -> Iterator[None]:
    import ctypes  # by now the first picture is on the screen

    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "inotify_init1")
    try:
        for folder in folders:
            if libc.inotify_add_watch(fd, os.fsencode(folder), _MASK) < 0:
                raise OSError(ctypes.get_errno(), "inotify_add_watch", str(folder))
        while not stop.is_set():
            _sleep_until_news(fd, BUSY if busy() else CALM)
            yield
    finally:
        os.close(fd)


def _sleep_until_news(fd: int, seconds: float) -> None:
    """Return after the first notice of something other than a temporary file, or after `seconds`."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        ready, _, _ = select.select([fd], [], [], left)
        if ready and _tells(os.read(fd, 64 * 1024)):
            time.sleep(_GATHER)
            return


def _tells(data: bytes) -> bool:
    """Whether any of the notices is about more than a file that is being written aside."""
    at = 0
    while at < len(data):
        _, _, _, length = _EVENT_HEADER.unpack_from(data, at)
        name = data[at + _EVENT_HEADER.size : at + _EVENT_HEADER.size + length].rstrip(b"\0")
        if not name.startswith(b"."):
            return True
        at += _EVENT_HEADER.size + length
    return False


def _by_watchfiles(folders: list[Path], stop: threading.Event, busy: Callable[[], bool]) -> Iterator[None]:
    from watchfiles import watch

    notices = watch(
        *folders, watch_filter=None, recursive=False, stop_event=stop, step=10, debounce=50,
        rust_timeout=int(BUSY * 1000), yield_on_timeout=True, raise_interrupt=False,
    )  # fmt: skip
    for _ in notices:
        yield
