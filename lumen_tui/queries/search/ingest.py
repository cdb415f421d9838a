"""What is new in journals and task folders, taken into a search index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.queries.search import documents as rows
from lumen_tui.queries.search.documents import COLUMNS, IndexedDocument
from lumen_tui.queries.trail_file import fresh_lines
from lumen_tui.storage import files
from lumen_tui.storage.kept import is_same_part, place_of
from lumen_tui.store.tasks.task_records import archive_months, exit_stamp, settled, task_names

if TYPE_CHECKING:
    import sqlite3

    from lumen_tui.storage.layout import Layout

_STEP = 20_000  # documents whose words are indexed between two words on progress
_REBUILD_FROM = 4000  # changed documents from which all words are indexed again at once
_EDGES = "relationships"
_LIVE = "live"
_INSERT = (
    f"INSERT INTO docs (src, stamp, {', '.join(COLUMNS)}) VALUES (?, ?{', ?' * len(COLUMNS)}) "  # noqa: S608
    f"ON CONFLICT (ref) DO UPDATE SET src = excluded.src, stamp = excluded.stamp, "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS[1:])
)
_FORGET = "INSERT INTO words (words, rowid, text, tags) VALUES ('delete', ?, ?, ?)"
_KNOWN = "SELECT id, text, tags FROM docs WHERE ref = ?"


class IndexTransaction:
    """Documents on their way into the index, in one transaction."""

    def __init__(
        self, db: sqlite3.Connection, rebuild_from: int = _REBUILD_FROM, progress: IngestProgress | None = None
    ) -> None:
        self.db, self._rebuild_from, self.progress = db, rebuild_from, progress
        self._changed = 0
        self._rebuild = False

    def __enter__(self) -> IndexTransaction:
        self.db.execute("BEGIN IMMEDIATE")
        self._rebuild = self.db.execute("SELECT id FROM docs LIMIT 1").fetchone() is None
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._index_words()
            self.db.execute("COMMIT")
        elif self.db.in_transaction:
            self.db.execute("ROLLBACK")

    def put(self, src: str, docs: Iterable[tuple[int, IndexedDocument]]) -> None:
        """Add or replace documents, each with a stamp; the last one of an id counts."""
        newest = {doc.ref: (stamp, doc) for stamp, doc in docs}
        self._changed += len(newest)
        self._rebuild = self._rebuild or self._changed > self._rebuild_from
        gone = [(doc.ref,) for _, doc in newest.values() if doc.gone]
        fresh = [(src, stamp, *doc[:-1]) for stamp, doc in newest.values() if not doc.gone]
        if self._rebuild:
            self.db.executemany(_INSERT, fresh)
            self.db.executemany("DELETE FROM docs WHERE ref = ?", gone)
            return
        for ref in newest:
            self.db.executemany(_FORGET, self.db.execute(_KNOWN, (ref,)).fetchall())
        self.db.executemany("DELETE FROM docs WHERE ref = ?", ((ref,) for ref in newest))
        first = (self.db.execute("SELECT max(id) FROM docs").fetchone()[0] or 0) + 1
        self.db.executemany(_INSERT, fresh)
        self.db.execute("INSERT INTO words (rowid, text, tags) SELECT id, text, tags FROM docs WHERE id >= ?", (first,))

    def drop(self, src: str) -> None:
        """Take everything of a source away: it is about to be read again."""
        if self.db.execute("DELETE FROM docs WHERE src = ?", (src,)).rowcount:
            self._rebuild = True

    def _index_words(self) -> None:
        """Index the words of all documents, where that is quicker than one by one."""
        if not self._rebuild:
            return
        self.db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        last = self.db.execute("SELECT max(id) FROM docs").fetchone()[0] or 0
        sql = "INSERT INTO words (rowid, text, tags) SELECT id, text, tags FROM docs WHERE id > ? AND id <= ?"
        for start in range(0, last, _STEP):
            self.db.execute(sql, (start, start + _STEP))
            if self.progress:
                self.progress.indexed(min(1.0, (start + _STEP) / last))
        self.db.execute("INSERT INTO words (words) VALUES ('optimize')")  # one part to look in, not seven


class IngestProgress:
    """How far an update has come: half of it is reading, half the words of what was read."""

    def __init__(self, layout: Layout, show: Callable[[int, int], None]) -> None:
        journals = [place(layout) for place, _ in rows.JOURNALS.values()]
        self._show = show
        self._total = sum(os.stat(path).st_size for path in journals if path.is_file())
        self._read = 0

    def read(self, size: int) -> None:
        """Note that so many bytes more were read."""
        self._read += size
        self._show(self._read // 2, self._total)

    def indexed(self, share: float) -> None:
        """Note that the words of this share of all documents are indexed."""
        self._show(int(self._total * (1 + share) / 2), self._total)


def everything(
    db: sqlite3.Connection, layout: Layout, now: float, show: Callable[[int, int], None] | None = None
) -> None:
    """Take in all that is new, or nothing. `show` is called with the bytes that were taken in, and all of them."""
    with IndexTransaction(db, progress=IngestProgress(layout, show) if show else None) as transaction:
        for name, (place, read) in rows.JOURNALS.items():
            _take_journal(transaction, name, place(layout), read)
        _take_edges(db, layout)
        _take_tasks(transaction, layout, now)


def behind(db: sqlite3.Connection, layout: Layout, now: float) -> bool:
    """Return whether anything is new: a `stat` for each journal and each month of the archive."""
    known = {row[0]: row for row in db.execute("SELECT * FROM parts")}
    journals = {name: place(layout) for name, (place, _) in rows.JOURNALS.items()}
    for name, file in {**journals, _EDGES: layout.relationships}.items():
        try:
            stat = os.stat(file)
        except OSError:
            if name in known:
                return True
            continue
        if name not in known or known[name][1:4] != (stat.st_dev, stat.st_ino, stat.st_size):
            return True
    return any(gone or new or stamp for _, _, stamp, gone, new in _changed_tasks(db, layout, now))


def _take_journal(transaction: IndexTransaction, name: str, file: Path, read: rows.LineReader) -> None:
    for lines in _new_lines(transaction.db, name, file, lambda: transaction.drop(name)):
        documents = (read(line) for line in lines)
        transaction.put(name, ((0, doc) for doc in documents if doc is not None))
        if transaction.progress:
            transaction.progress.read(sum(map(len, lines)) + len(lines))


def _take_edges(db: sqlite3.Connection, layout: Layout) -> None:
    for lines in _new_lines(db, _EDGES, layout.relationships, lambda: db.execute("DELETE FROM edges")):
        for start, finish, kind, removed in filter(None, map(rows.edge, lines)):
            sql = "DELETE FROM edges WHERE (start, finish, kind) = (?, ?, ?)"
            db.execute(sql if removed else "INSERT OR IGNORE INTO edges VALUES (?, ?, ?)", (start, finish, kind))


def _new_lines(db: sqlite3.Connection, name: str, file: Path, again: rows.Again) -> Iterator[list[bytes]]:
    """Yield the lines behind the part that was read; `again` is called first where the file is another one."""
    known = db.execute("SELECT * FROM parts WHERE name = ?", (name,)).fetchone()
    try:
        fd = files.open_plain(file)
    except (files.StoreError, OSError):  # none there, or none that may be read: `doctor` names it
        if known:
            again()
            db.execute("DELETE FROM parts WHERE name = ?", (name,))
        return
    try:
        start = known[3] if known and is_same_part(fd, known[1:]) else 0
        if known and not start:
            again()
        end = start
        for until, lines in fresh_lines(fd, start):
            end = until
            yield [line for _, line in lines]
        part = (name, *place_of(fd, end))
        db.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?)", part)
    finally:
        os.close(fd)


def _take_tasks(transaction: IndexTransaction, layout: Layout, now: float) -> None:
    db = transaction.db
    for place, folder, stamp, gone, new in _changed_tasks(db, layout, now):
        still_query = "SELECT 1 FROM docs WHERE (ref, src) = (?, ?)"  # not in another place by now
        removed = [ref for ref in gone if db.execute(still_query, (ref, place)).fetchone()]
        transaction.put(place, [(0, IndexedDocument(ref, gone=True)) for ref in removed])
        transaction.put(place, ((at, rows.task(folder / name)) for name, at in new.items()))
        if stamp:
            db.execute("INSERT OR REPLACE INTO places VALUES (?, ?)", (place, stamp))


def _changed_tasks(
    db: sqlite3.Connection, layout: Layout, now: float
) -> Iterator[tuple[str, Path, int, set[str], dict[str, int]]]:
    """Yield (place, folder, stamp to remember, tasks that left it, those to be read with their stamps)."""
    known = dict(db.execute("SELECT ref, stamp FROM docs WHERE type = 'task' AND src = ?", (_LIVE,)).fetchall())
    stamps_by_name = {name: at for name in task_names(layout.tasks) if (at := exit_stamp(layout.tasks / name))}
    new = {name: at for name, at in stamps_by_name.items() if known.get(name) != at}
    yield _LIVE, layout.tasks, 0, known.keys() - stamps_by_name.keys(), new
    stamps = dict(db.execute("SELECT name, stamp FROM places").fetchall())
    for place, month, stamp in archive_months(layout.archive):
        if stamps.get(place) == stamp:
            continue
        held = {row[0] for row in db.execute("SELECT ref FROM docs WHERE type = 'task' AND src = ?", (place,))}
        names = task_names(month)
        yield place, month, settled(stamp, now), held - names, dict.fromkeys(sorted(names - held), 0)
