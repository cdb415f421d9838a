"""index/search.db: what a search looks through, kept up to date with the journals, removed and rebuilt at will.

Nothing is here that is not in a journal or a task's folder as well. One update takes in what was appended
since the last one; a journal that was rewritten is taken in again. Updates take turns behind a lock, so that any number
of processes may search at once. Where the file cannot be used, the index is made in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.queries.search import ingest as ingest
from lumen_tui.queries.search.documents import COLUMNS
from lumen_tui.storage import directories, files, locks

if TYPE_CHECKING:
    import sqlite3

    from lumen_tui.storage.layout import Layout

VERSION = 2  # of the tables; another one is built again
_BUSY = 10.0  # seconds for another process to finish
_PLAIN = ", ".join(f"{name} {'REAL' if name in ('at', 'importance') else 'TEXT'}" for name in COLUMNS[1:])
FULL_TEXT = "fts5"  # the module of SQLite that keeps the words
TABLES = f"""
DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS docs; DROP TABLE IF EXISTS parts; DROP TABLE IF EXISTS edges;
DROP TABLE IF EXISTS places;
CREATE TABLE parts (name TEXT PRIMARY KEY, dev INT, ino INT, done INT, head INT, tail INT);
CREATE TABLE places (name TEXT PRIMARY KEY, stamp INT);
CREATE TABLE docs (id INTEGER PRIMARY KEY, src TEXT, stamp INT, ref TEXT UNIQUE, {_PLAIN});
CREATE INDEX by_session ON docs (session, at) WHERE session != '';
CREATE INDEX by_time ON docs (at);
CREATE INDEX by_unit ON docs (wu, at) WHERE wu != '';
CREATE INDEX tasks ON docs (src, ref, stamp) WHERE type = 'task';
CREATE TABLE edges (start TEXT, finish TEXT, kind TEXT, PRIMARY KEY (start, finish, kind)) WITHOUT ROWID;
CREATE INDEX by_finish ON edges (finish);
CREATE VIRTUAL TABLE words USING fts5 (text, tags, content='docs', content_rowid='id', tokenize='porter unicode61');
INSERT INTO words (words, rank) VALUES ('hashsize', 33554432)
"""  # noqa: S608 - names of columns, from here
_NONE = (0, 0)


class NoFullText(Exception):
    """This Python's sqlite3 was built without FTS5."""


def open_index(place: Path | None) -> sqlite3.Connection:
    """Open a database with the tables of this version, in memory without a place. A damaged file is replaced.

    Raises NoFullText, and files.StoreError or OSError where nothing can be written.
    """
    import sqlite3  # here, so that commands that never search are not slower for it

    if place is None:
        return _connect(":memory:")
    for may_retry in (True, False):
        try:
            os.close(files.open_append(place))  # created private, refused where it is a link
            return _connect(str(place))
        except sqlite3.DatabaseError as error:
            if is_transient(error) or not may_retry:
                raise files.NotWritten(f"{place}: {error}") from error
            remove_index(place)
    raise AssertionError


def _connect(where: str) -> sqlite3.Connection:
    import sqlite3

    db = sqlite3.connect(where, timeout=_BUSY, isolation_level=None, check_same_thread=False)
    try:
        if (FULL_TEXT,) not in db.execute("PRAGMA module_list"):
            raise NoFullText("this Python's sqlite3 has no FTS5")
        db.execute("PRAGMA synchronous=OFF")  # derived: what a crash spoils is built again
        db.execute("PRAGMA cache_size=-32768")
        db.execute("PRAGMA mmap_size=0")
        if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            _make_tables(db)
        db.execute("SELECT rowid FROM words LIMIT 1")
    except BaseException:
        db.close()
        raise
    return db


def _make_tables(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    for statement in TABLES.split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA user_version={VERSION}")
    db.execute("COMMIT")


def is_transient(error: sqlite3.Error) -> bool:
    """Return whether an error is about the moment or the disk, and not about the content of the file."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (5, 6, 7, 8, 10, 13, 14)  # busy, locked, no memory, read-only, I/O, full, cannot open


def remove_index(place: Path) -> None:
    """Remove the index, and first the journal beside it, which must not be played into another file."""
    directories.remove(place.with_name(f"{place.name}-journal"))
    directories.remove(place)


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
        self.progress: Callable[[int, int], None] | None = None
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
        ingest.everything(self.db, self._layout, now, self.progress)
