"""index/search.db: what a search looks through, made level with the journals, thrown away and made anew at will.

Nothing stands here that does not stand in a journal or a task's folder as well. One look takes in what was appended
since the last one; a journal that was rewritten is taken in again. Updates take turns behind a lock, so that any number
of processes may look at once. Where the file cannot be used, the index is made in memory.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.queries.search import ingest as take
from lumen_tui.queries.search.tables import is_passing, opened, throw_away
from lumen_tui.storage import directories, files, locks

if TYPE_CHECKING:
    import sqlite3

    from lumen_tui.storage.layout import Layout
_NONE = (0, 0)


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = os.stat(file)
    except OSError:
        return _NONE
    return found.st_dev, found.st_ino


class SearchIndex:
    """An open index, level with what it is made from since the last `refresh`."""

    NAME = "search"

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._path = layout.index / f"{self.NAME}.db"
        self.in_memory = False
        self._stamp = _NONE
        self.db = self._open()

    def close(self) -> None:
        """Let go of the file."""
        self.db.close()

    def _turn(self) -> locks.waiting_lock:
        return locks.waiting_lock(self._layout.lock(self.NAME))

    def _open(self) -> sqlite3.Connection:
        try:
            directories.make_folder(self._layout.index)  # whoever deletes it may go on
            with self._turn():
                db = opened(self._path)
                self._stamp = _stamp(self._path)
                return db
        except (files.StoreError, OSError):
            self.in_memory = True  # read-only, full, or not ours
            return opened(None)

    def refresh(self, now: float) -> None:
        """Take in what is new. A damaged index is made anew, one that cannot be written is made in memory."""
        import sqlite3

        if not self.in_memory and _stamp(self._path) != self._stamp:
            self.db.close()  # thrown away by somebody
            self.db = self._open()
        for _ in range(3):
            try:
                self._level(now)
                return
            except sqlite3.DatabaseError as error:
                self.begin_again(damaged=not is_passing(error))
            except (files.StoreError, OSError):
                self.begin_again(damaged=False)
        self._level(now)

    def begin_again(self, *, damaged: bool = True) -> None:
        """Another index in the place of this one: of its own file where that was damaged, else in memory.

        Where somebody put another file there meanwhile, that one is opened.
        """
        self.db.close()
        moved = _stamp(self._path) != self._stamp
        if self.in_memory or not (damaged or moved):
            self.in_memory, self.db = True, opened(None)
            return
        with self._turn():
            if _stamp(self._path) == self._stamp:
                throw_away(self._path)
        self.db = self._open()

    def _level(self, now: float) -> None:
        if self.in_memory:
            self._take_in(now)
        elif self._is_behind(now):
            with self._turn():
                self._take_in(now)

    def _is_behind(self, now: float) -> bool:
        return take.behind(self.db, self._layout, now)

    def _take_in(self, now: float) -> None:
        take.everything(self.db, self._layout, now)
