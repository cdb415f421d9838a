"""index/search.db: what a search looks through, kept up to date with the journals, removed and rebuilt at will.

Nothing is here that is not in a journal or a task's folder as well. One update takes in what was appended
since the last one; a journal that was rewritten is taken in again. Updates take turns behind a lock, so that any number
of processes may search at once. Where the file cannot be used, the index is made in memory.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.queries.search import ingest as ingest
from lumen_tui.queries.search.tables import is_transient, open_index, remove_index
from lumen_tui.storage import directories, files, locks

if TYPE_CHECKING:
    import sqlite3

    from lumen_tui.storage.layout import Layout
_NONE = (0, 0)


def _stamp(file: Path) -> tuple[int, int]:
    try:
        stat = os.stat(file)
    except OSError:
        return _NONE
    return stat.st_dev, stat.st_ino


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
        """Close the file."""
        self.db.close()

    def _lock(self) -> locks.waiting_lock:
        return locks.waiting_lock(self._layout.lock(self.NAME))

    def _open(self) -> sqlite3.Connection:
        try:
            directories.make_folder(self._layout.index)  # whoever deletes it may go on
            with self._lock():
                db = open_index(self._path)
                self._stamp = _stamp(self._path)
                return db
        except (files.StoreError, OSError):
            self.in_memory = True  # read-only, full, or not ours
            return open_index(None)

    def refresh(self, now: float) -> None:
        """Take in what is new. A damaged index is rebuilt, one that cannot be written is made in memory."""
        import sqlite3

        if not self.in_memory and _stamp(self._path) != self._stamp:
            self.db.close()  # thrown away by somebody
            self.db = self._open()
        for _ in range(3):
            try:
                self._update(now)
                return
            except sqlite3.DatabaseError as error:
                self.begin_again(damaged=not is_transient(error))
            except (files.StoreError, OSError):
                self.begin_again(damaged=False)
        self._update(now)

    def begin_again(self, *, damaged: bool = True) -> None:
        """Replace this index: in its own file where that was damaged, else in memory.

        Where somebody put another file there meanwhile, that one is opened.
        """
        self.db.close()
        moved = _stamp(self._path) != self._stamp
        if self.in_memory or not (damaged or moved):
            self.in_memory, self.db = True, open_index(None)
            return
        with self._lock():
            if _stamp(self._path) == self._stamp:
                remove_index(self._path)
        self.db = self._open()

    def _update(self, now: float) -> None:
        if self.in_memory:
            self._take_in(now)
        elif self._is_behind(now):
            with self._lock():
                self._take_in(now)

    def _is_behind(self, now: float) -> bool:
        return ingest.behind(self.db, self._layout, now)

    def _take_in(self, now: float) -> None:
        ingest.everything(self.db, self._layout, now)
