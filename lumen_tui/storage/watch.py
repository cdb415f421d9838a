"""Waiting for changes: inotify where the system has it, watchfiles elsewhere, polling as the last resort.

One inotify descriptor answers within a millisecond and sleeps until then; watchfiles wakes a hundred times a
second to be as quick (docs/adr/0007).
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lumen_tui.storage.layout import Layout

# inotify(7)
_MODIFY, _MOVED, _CREATE, _DELETE = 0x2, 0xC0, 0x100, 0x200
_HEADER = struct.Struct("iIII")


class Notices:
    """One inotify descriptor: what is created, changed or removed in the folders, not below them.

    Raise OSError where the system has no descriptor left or cannot watch one of the folders.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        for folder in folders:
            if libc.inotify_add_watch(self._fd, os.fsencode(folder), _MODIFY | _MOVED | _CREATE | _DELETE) < 0:
                error = ctypes.get_errno()
                self.close()
                raise OSError(error, "inotify_add_watch", str(folder))

    def fileno(self) -> int:
        """Return the descriptor, which is readable when there are notices."""
        return int(self._fd)

    def names(self) -> set[str]:
        """Return the names with notices since the last call, without temporary files."""
        names: set[str] = set()
        try:
            while data := os.read(self._fd, 64 * 1024):
                names |= _names(data)
        except BlockingIOError:
            pass
        return {name for name in names if not name.startswith(".")}

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._fd)


def _names(data: bytes) -> set[str]:
    names = set()
    offset = 0
    while offset < len(data):
        _, _, _, length = _HEADER.unpack_from(data, offset)
        offset += _HEADER.size + length
        names.add(os.fsdecode(data[offset - length : offset].rstrip(b"\0")))
    return names


BUSY, CALM = 0.4, 1.0  # seconds between polls of what no notice covers: events of running workers, the engine's lock
_QUIET, _BURST = 0.001, 0.02  # seconds without a notice that end a burst, and how long one is waited for
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
    news = select.poll()  # of any descriptor; select() takes none beyond the 1,023rd
    news.register(notices, select.POLLIN)
    while (remaining := end - time.monotonic()) > 0:
        if news.poll(remaining * 1000) and notices.names():
            end = time.monotonic() + _BURST
            while time.monotonic() < end and news.poll(_QUIET * 1000):
                notices.names()
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
