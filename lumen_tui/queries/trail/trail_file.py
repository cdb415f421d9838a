"""The file behind the trail index: opened, brought up to date with the journals, or built in memory."""

from __future__ import annotations

import os

from lumen_tui.queries.trail.trail_rows import TABLES, TAKERS, VERSION, fresh_lines, is_same_part, part_hashes
from lumen_tui.storage import directories, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any

    from lumen_tui.storage.layout import Layout

NODES, SIGNALS, EDGES = "nodes", "signals", "edges"
ALL = (NODES, SIGNALS, EDGES)
_ATTEMPTS = 4
_IN_MEMORY = ":memory:"
BUSY_SECONDS = 5.0  # how long another process is waited for before the index is made in memory


def _known_part(db: sqlite3.Connection, source: str) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = db.execute("SELECT * FROM parts WHERE source = ?", (source,)).fetchone()
    return row


def _make_tables(db: sqlite3.Connection) -> None:
    if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:  # another process may have made them
        for statement in TABLES.split(";"):
            db.execute(statement)
    db.execute("COMMIT")


def path(layout: Layout) -> Path:
    """Return the index file."""
    return layout.index / "trail.db"


class TrailFile:
    """The journals as they are now: `db` holds the rows, `fds` the journals they belong to."""

    def __init__(self, layout: Layout, sources: Iterable[str] = ALL) -> None:
        self._layout = layout
        self._journals = {NODES: layout.memory, SIGNALS: layout.signals, EDGES: layout.relationships}
        self.fds: dict[str, int] = {}
        self._sources = tuple(sources)
        self.db = self._open()

    def close(self) -> None:
        """Close the files."""
        self.db.close()
        self._close_journals()

    def _close_journals(self) -> None:
        for fd in self.fds.values():
            os.close(fd)
        self.fds.clear()

    def _open(self) -> sqlite3.Connection:
        import sqlite3  # here, so that commands that never use it are not slower for it

        try:
            os.close(files.open_append(path(self._layout)))  # created private, refused where it is a link
            return self._filled(str(path(self._layout)))
        except sqlite3.DatabaseError as error:
            self._close_journals()
            if not isinstance(error, sqlite3.OperationalError):  # damaged; a busy or full disk is no reason
                directories.remove(path(self._layout))
        except (files.StoreError, OSError):
            self._close_journals()
        return self._filled(_IN_MEMORY)

    def _filled(self, where: str) -> sqlite3.Connection:
        """Return a database that is up to date with the journals, in a read transaction that keeps it so."""
        import sqlite3

        db = sqlite3.connect(where, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous=NORMAL")
            _make_tables(db)
            for attempt in range(_ATTEMPTS):
                if attempt == 0 or where != _IN_MEMORY:  # an index of one's own keeps to the files it began with
                    self._open_journals()
                db.execute("BEGIN")
                behind = [source for source in self._sources if not self._is_level(db, source, growing=attempt > 0)]
                if not behind:
                    return db
                db.execute("ROLLBACK")
                db.execute("BEGIN IMMEDIATE")
                for source in behind:
                    self._take_in(db, source)
                db.execute("COMMIT")
            raise sqlite3.OperationalError("the journals are rewritten again and again")
        except BaseException:
            db.close()
            raise

    def _open_journals(self) -> None:
        self._close_journals()
        for source in self._sources:
            try:
                self.fds[source] = files.open_plain(self._journals[source])
            except FileNotFoundError:
                continue

    def _is_level(self, db: sqlite3.Connection, source: str, *, growing: bool) -> bool:
        """Return whether the rows are those of the journal; with `growing`, of its beginning, which will do."""
        known = _known_part(db, source)
        if known is None or source not in self.fds:
            return known is None and source not in self.fds
        fd = self.fds[source]
        stat = os.fstat(fd)
        return is_same_part(fd, stat, known) and (growing or known[3] == stat.st_size)

    def _take_in(self, db: sqlite3.Connection, source: str) -> None:
        """Bring the rows of one journal up to what the file holds now."""
        fd, known = self.fds.get(source, -1), _known_part(db, source)
        start = known[3] if known and fd >= 0 and is_same_part(fd, os.fstat(fd), known) else 0
        if start == 0:
            db.execute(f"DELETE FROM {source}")  # noqa: S608 - one of three constants
            db.execute("DELETE FROM parts WHERE source = ?", (source,))
        if fd < 0:
            return
        end = start
        for until, lines in fresh_lines(fd, start):
            TAKERS[source](db, lines)
            end = until
        stat = os.fstat(fd)
        part = (source, stat.st_dev, stat.st_ino, end, *part_hashes(fd, end))
        db.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?)", part)
