"""The tables of a search index, and the file that they are in: opened, made, removed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.queries.search.documents import IndexedDocument
from lumen_tui.storage import directories, files

if TYPE_CHECKING:
    import sqlite3

VERSION = 1  # of the tables; another one is built again
COLUMNS = IndexedDocument._fields[:-1]
_BUSY = 10.0  # seconds for another process to finish
_PLAIN = ", ".join(f"{name} {'REAL' if name in ('at', 'importance') else 'TEXT'}" for name in COLUMNS[1:])
TABLES = f"""
DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS docs; DROP TABLE IF EXISTS parts; DROP TABLE IF EXISTS edges;
DROP TABLE IF EXISTS places;
CREATE TABLE parts (name TEXT PRIMARY KEY, dev INT, ino INT, done INT, head INT, tail INT);
CREATE TABLE places (name TEXT PRIMARY KEY, stamp INT);
CREATE TABLE docs (id INTEGER PRIMARY KEY, src TEXT, stamp INT, ref TEXT UNIQUE, {_PLAIN});
CREATE INDEX by_session ON docs (session, at) WHERE session != '';
CREATE INDEX by_time ON docs (at);
CREATE INDEX tasks ON docs (src, ref, stamp) WHERE type = 'task';
CREATE TABLE edges (start TEXT, finish TEXT, kind TEXT, PRIMARY KEY (start, finish, kind)) WITHOUT ROWID;
CREATE INDEX by_finish ON edges (finish);
CREATE VIRTUAL TABLE words USING fts5 (text, tags, content='docs', content_rowid='id', tokenize='porter unicode61');
INSERT INTO words (words, rank) VALUES ('hashsize', 33554432)
"""  # noqa: S608 - names of columns, from here


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
        db.execute("PRAGMA synchronous=OFF")  # derived: what a crash spoils is built again
        db.execute("PRAGMA cache_size=-32768")
        db.execute("PRAGMA mmap_size=1073741824")
        if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            _make_tables(db)
        db.execute("SELECT rowid FROM words LIMIT 1")
    except sqlite3.OperationalError as error:
        db.close()
        if "fts5" in str(error):
            raise NoFullText("this Python's sqlite3 has no FTS5") from error
        raise
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
