"""Folders for the shadows of tasks: replays/<name>/, made for one replay and removed with it.

Whoever has made one holds its lock; one whose lock is free is what a kill left. The state folders of trials, which are
beside them, stay until another trial begins.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lumen_tui.model import ids
from lumen_tui.storage import directories, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.tools.isolation import pool

TRIAL = "trial-"  # as the name of a trial's state folder begins
_LOCK = "shadow.lock"


@contextmanager
def place(layout: Layout) -> Iterator[Path]:
    """Give a new folder for a shadow, and remove it with all that is in it at the end."""
    with locks.waiting_lock(layout.replays_lock):
        folder = layout.replays / ids.new_id("replay")
        directories.make_folder(folder)
        lock = locks.try_lock(folder / _LOCK)
    try:
        yield folder
    finally:
        with locks.waiting_lock(layout.replays_lock):
            pool.remove_tree(folder)
            directories.remove_folder(layout.replays)
        if lock is not None:
            os.close(lock)


def left(layout: Layout) -> list[Path]:
    """Return the folders whose replay was killed."""
    if not layout.replays.is_dir():
        return []
    with locks.waiting_lock(layout.replays_lock):
        shadows = [folder for folder in sorted(layout.replays.iterdir()) if not folder.name.startswith(TRIAL)]
        return [folder for folder in shadows if not locks.is_locked(folder / _LOCK)]


def sweep(layout: Layout) -> int:
    """Remove what killed replays left; return how many folders."""
    leftovers = left(layout)
    for folder in leftovers:
        pool.remove_tree(folder)
    if leftovers:
        directories.remove_folder(layout.replays)
    return len(leftovers)
