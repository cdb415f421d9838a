"""index/conversations.db: what was said in sessions, ours and those of Claude Code, as far as it was read.

Each block of a session file is a document of its own. Files are read from where the last search stopped, the newest
first, and no search reads more than a bounded part.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lumen_tui.model import times
from lumen_tui.model.evolution import SessionEntry, SessionReport
from lumen_tui.model.text import one_line
from lumen_tui.queries.search.documents import IndexedDocument, indexed_text
from lumen_tui.queries.search.index import SearchIndex
from lumen_tui.queries.search.ingest import IndexTransaction
from lumen_tui.storage import files
from lumen_tui.storage.kept import is_same_part, place_of
from lumen_tui.store.sessions.transcripts import SessionParser, foreign_sessions, lines_from, open_session, own_sessions
from lumen_tui.store.settings.config import load_config

if TYPE_CHECKING:
    import sqlite3

    from lumen_tui.storage.layout import Layout

_LONGEST = {"said": 8000, "call": 1000, "result": 2000}  # characters of a block that are indexed
_IMPORTANCE = {"said": 0.45, "call": 0.3, "result": 0.25}
_PERSON_IMPORTANCE = 0.7
_BATCH = 2000  # documents that are put in at once


class _Session(NamedTuple):
    """A session file, and how far it was read."""

    path: Path
    size: int
    changed: float
    read_bytes: int


class ConversationIndex(SearchIndex):
    """An index of conversations. `most` bounds the bytes that one search reads; `behind` says what is left."""

    NAME = "conversations"

    def __init__(self, layout: Layout, *, most: int) -> None:
        super().__init__(layout)
        self._most = most
        self.behind = ""

    def _is_behind(self, now: float) -> bool:
        self.behind = ""
        waiting, gone = self._waiting()
        return bool(waiting or gone)

    def _waiting(self) -> tuple[list[_Session], list[str]]:
        """Return session files with something new, the newest first, and names of those that are gone."""
        known = {row[0]: row for row in self.db.execute("SELECT * FROM parts")}
        waiting, seen = [], set()
        config = load_config(self._layout)[0].evolution
        for path in (*own_sessions(self._layout), *foreign_sessions(config)):
            try:
                stat = os.stat(path)
            except OSError:
                continue
            seen.add(str(path))
            part = known.get(str(path))
            unchanged = part is not None and part[1:3] == (stat.st_dev, stat.st_ino) and part[3] <= stat.st_size
            read_bytes = part[3] if part and unchanged else 0
            if stat.st_size != read_bytes:
                waiting.append(_Session(path, stat.st_size, stat.st_mtime, read_bytes))
        return sorted(waiting, key=lambda session: -session.changed), sorted(known.keys() - seen)

    def _take_in(self, now: float) -> None:
        waiting, gone = self._waiting()
        if gone:
            with IndexTransaction(self.db, rebuild_from=1 << 60) as transaction:
                for name in gone:
                    _remove_session(transaction, name)
        total, read = sum(session.size - session.read_bytes for session in waiting), 0
        for session in waiting:
            if read >= self._most:
                break
            with IndexTransaction(self.db, rebuild_from=1 << 60) as transaction:
                read += _read(transaction, session, self._layout, self._most - read)
            if self.progress is not None:
                self.progress(read, total)
        self.behind = _behind_note(total - read) if read >= self._most and read < total else ""


def _behind_note(size: int) -> str:
    return f"{max(1, size >> 20):,} MB of conversations are not indexed yet: search again to continue"


def _remove_session(transaction: IndexTransaction, name: str) -> None:
    transaction.drop(name)
    transaction.db.execute("DELETE FROM parts WHERE name = ?", (name,))
    transaction.db.execute("DELETE FROM places WHERE name = ?", (name,))


def _read(transaction: IndexTransaction, session: _Session, layout: Layout, most: int) -> int:
    """Take in the next part of one file; returns how many bytes that was."""
    db, name = transaction.db, str(session.path)
    try:
        fd = open_session(session.path)
    except (files.StoreError, OSError):  # not ours to read: left out
        return 0
    try:
        part = db.execute("SELECT * FROM parts WHERE name = ?", (name,)).fetchone()
        if part and not is_same_part(fd, part[1:]):
            _remove_session(transaction, name)
            part = None
        start = part[3] if part else 0
        end = _take_lines(
            transaction, session.path, layout, fd, (start, _line_number(db, name) if part else 0), start + most
        )
        row = (name, *place_of(fd, end))
        db.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?)", row)
        return end - start
    finally:
        os.close(fd)


def _line_number(db: sqlite3.Connection, name: str) -> int:
    row = db.execute("SELECT stamp FROM places WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


def _take_lines(
    transaction: IndexTransaction, path: Path, layout: Layout, fd: int, start: tuple[int, int], until: int
) -> int:
    """Take in the lines from (offset, line) on; return the offset behind the last one that was read."""
    end, number = start
    parser = SessionParser(path.stem, SessionReport(file=str(path)), own=path.parent == layout.transcripts)
    docs: list[tuple[int, IndexedDocument]] = []
    for offset, line in lines_from(fd, end):
        end, number = offset, number + 1
        docs += [(0, _document(entry, path, at)) for at, entry in enumerate(parser.entries(number, line)) if entry.text]
        if len(docs) >= _BATCH:
            transaction.put(str(path), docs)
            docs = []
        if end >= until:
            break
    transaction.put(str(path), docs)
    transaction.db.execute("INSERT OR REPLACE INTO places VALUES (?, ?)", (str(path), number))
    return end


def _document(entry: SessionEntry, path: Path, block: int) -> IndexedDocument:
    text = entry.text[: _LONGEST.get(entry.kind, 1000)]
    by = "person" if entry.person else entry.tool or ("output" if entry.kind == "result" else str(entry.trust))
    return IndexedDocument(
        f"{path.stem}:{entry.line}.{block}",
        "conversation",
        "episodic",
        times.epoch(entry.at),
        _PERSON_IMPORTANCE if entry.person else _IMPORTANCE.get(entry.kind, 0.3),
        session=path.stem,
        by=one_line(by, 60),
        source=one_line(entry.cwd, 200),
        trust=str(entry.trust),
        place=f"{path}:{entry.line}",
        text=indexed_text(text),
    )
