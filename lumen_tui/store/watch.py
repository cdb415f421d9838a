"""Waiting for changes: the kernel's own notice where there is one, a look at intervals where there is none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from lumen_tui.store.layout import Layout

_INTERVAL_MS = 400  # a look at what no notice tells: the engine's lock, the events of running workers
_WATCHED = ("memory", "loops", "work", "roles", "tasks")  # not below tasks/: 10,000 folders need no watch each


def wait_for_changes(layout: Layout, stop: threading.Event) -> Iterator[None]:
    """Yield whenever something may have changed, at least every 0.4 s, until `stop` is set."""
    folders = [layout.root, *(layout.root / name for name in _WATCHED)]
    present = [folder for folder in folders if folder.is_dir()]
    try:
        yield from _notified(present, stop)
    except (OSError, RuntimeError, ImportError):
        pass  # no inotify here, or its limit is reached: fall back to looking
    while not stop.wait(_INTERVAL_MS / 1000):
        yield


def _notified(folders: list[Path], stop: threading.Event) -> Iterator[None]:
    from watchfiles import watch

    notices = watch(
        *folders, watch_filter=None, recursive=False, stop_event=stop, step=10, debounce=50,
        rust_timeout=_INTERVAL_MS, yield_on_timeout=True, raise_interrupt=False,
    )  # fmt: skip
    for _ in notices:
        yield
