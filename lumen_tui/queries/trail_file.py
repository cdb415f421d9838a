"""The file behind the trail index: opened, brought up to date with the journals, or built in memory.

Its rows are made from lines of the journals; a part that is known already is recognised by its hashes.
"""

from __future__ import annotations

import os

from lumen_tui.model import jsontext
from lumen_tui.model.jsontext import table_of, text_of
from lumen_tui.model.kinds import LIFECYCLE_BY_TYPE, NODE_TYPES, is_decided, priority_rank
from lumen_tui.storage import directories, files
from lumen_tui.storage.kept import is_same_part, place_of
from lumen_tui.storage.line_access import split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from lumen_tui.storage.layout import Layout

    Lines = list[tuple[int, bytes]]
    Part = tuple[str, int, int, int, int, int]  # source, device, inode, end of what was read, hashes of both ends

_CHUNK = 1024 * 1024

_MANY = 1000  # lines from which a quick reader is worth its loading

VERSION = 3  # says that the database was made by this
TABLES = """
DROP TABLE IF EXISTS parts; DROP TABLE IF EXISTS nodes; DROP TABLE IF EXISTS mentions;
DROP TABLE IF EXISTS signals; DROP TABLE IF EXISTS edges;
CREATE TABLE parts (source TEXT PRIMARY KEY, dev INT, ino INT, done INT, head INT, tail INT);
CREATE TABLE nodes (id TEXT PRIMARY KEY, wu TEXT, kind TEXT, open INT, rank INT, created TEXT, project INT,
    first INT, at INT) WITHOUT ROWID;
CREATE INDEX nodes_wu ON nodes (wu, kind, open, first);
CREATE INDEX nodes_project ON nodes (first) WHERE project AND open;
CREATE TABLE signals (wu TEXT, at INT, PRIMARY KEY (wu, at)) WITHOUT ROWID;
CREATE TABLE mentions (source TEXT, owner TEXT, how TEXT, other TEXT, at INT);
CREATE INDEX mentions_owner ON mentions (owner, source);
CREATE INDEX mentions_other ON mentions (other);
CREATE TABLE edges (start TEXT, finish TEXT, kind TEXT, removed INT, at INT, PRIMARY KEY (finish, kind, start))
    WITHOUT ROWID;
PRAGMA user_version = 3;
"""
NODES, SIGNALS, EDGES = "nodes", "signals", "edges"
# fields of a node's metadata that name another thing, or several
MENTIONS = (
    "promoted_from", "discovered_from", "promoted_to", "merged_into", "summarized_into", "source_nodes", "merged_from",
    "task_id", "loop",
)  # fmt: skip
SIGNAL_MENTIONS = ("task_id", "reply_to")
ALL = (NODES, SIGNALS, EDGES)
_ATTEMPTS = 4
_IN_MEMORY = ":memory:"
BUSY_SECONDS = 5.0  # how long another process is waited for before the index is made in memory


def fresh_lines(fd: int, start: int) -> Iterator[tuple[int, Lines]]:
    """Yield (end of what was read, lines with their offsets) from `start`; a torn tail is left for the next time."""
    skipping = False
    while data := os.pread(fd, max(_CHUNK, files.MAX_READ_LINE + 1), start):
        end = data.rfind(b"\n") + 1
        if end == 0 and len(data) <= files.MAX_READ_LINE:
            return
        if end == 0:  # a line that nobody should hold in memory
            skipping, start = True, start + len(data)
            continue
        begin = data.find(b"\n") + 1 if skipping else 0
        skipping = False
        yield start + end, [*split_lines(data[begin:end], start + begin)]
        start += end


def _decoded(lines: Lines) -> Iterator[tuple[int, dict[str, object]]]:
    for offset, line in lines:
        record = jsontext.decode(line)
        if record is not None:
            yield offset, record


def _take_nodes(db: sqlite3.Connection, lines: Lines) -> None:
    records = [(offset, record) for offset, record in _decoded(lines) if text_of(record, "id")]
    rows = [_node_row(offset, record) for offset, record in records]
    db.executemany(
        "INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET wu = excluded.wu, "
        "kind = excluded.kind, open = excluded.open, rank = excluded.rank, created = excluded.created, "
        "project = excluded.project, at = excluded.at",
        rows,
    )
    newest = {str(record["id"]): (offset, table_of(record, "metadata")) for offset, record in records}
    db.executemany("DELETE FROM mentions WHERE owner = ? AND source = 'nodes'", ((owner,) for owner in newest))
    for owner, (offset, metadata) in newest.items():
        _note_mentions(db, NODES, owner, _mentioned(metadata), offset)


def _mentioned(metadata: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Yield (how, id) of the things that a node's fields name."""
    for how in MENTIONS:
        value = metadata.get(how)
        for other in value if isinstance(value, list) else (value,):
            if other and isinstance(other, str):
                yield how, other


def _note_mentions(
    db: sqlite3.Connection, source: str, owner: str, mentions: Iterable[tuple[str, str]], offset: int
) -> None:
    rows = [(source, owner, how, other, offset) for how, other in mentions]
    if rows:
        db.executemany("INSERT INTO mentions VALUES (?, ?, ?, ?, ?)", rows)


def _node_row(offset: int, record: dict[str, object]) -> tuple[object, ...]:
    metadata = record.get("metadata")
    meta: dict[str, object] = metadata if isinstance(metadata, dict) else {}
    kind = record.get("type") if record.get("type") in NODE_TYPES else "note"
    lifecycle = text_of(record, "lifecycle") or LIFECYCLE_BY_TYPE[str(kind)]
    state = meta.get("status")
    ended = meta.get("summarized_into") or meta.get("ended_at") or meta.get("taken_at") or lifecycle == "ephemeral"
    priority = meta.get("priority")
    return (
        record["id"],
        text_of(record, "wu_id"),
        _kind(str(kind), record, meta),
        state in (None, "", "open") and not ended,
        priority_rank(priority if isinstance(priority, str) else ""),
        text_of(record, "created_at"),
        lifecycle == "project" and kind != "summary",
        offset,
        offset,
    )


def _kind(kind: str, record: dict[str, object], meta: dict[str, object]) -> str:
    """Return the type; of notes, what they are for."""
    tags = record.get("tags")
    labels = tags if isinstance(tags, list) else []
    if kind != "note":
        return kind
    if "handoff" in labels:
        return "handoff"
    if "decision" in labels:
        return "decision" if is_decided(labels, record.get("content"), meta.get("answer")) else "pending"
    return "note"


def _take_signals(db: sqlite3.Connection, lines: Lines) -> None:
    about = [(offset, line) for offset, line in lines if b'"wu_id"' in line]
    if len(about) < _MANY:
        rows = [(text_of(record, "wu_id"), offset) for offset, record in _decoded(about)]
    else:
        from lumen_tui.store.signals import signal_index

        rows = list(signal_index.units_of_lines(about))
    db.executemany("INSERT OR REPLACE INTO signals VALUES (?, ?)", rows)
    mentioning = [(offset, line) for offset, line in lines if b'"task_id"' in line or b'"reply_to"' in line]
    for offset, record in _decoded(mentioning):
        named = [(how, text_of(record, how)) for how in SIGNAL_MENTIONS if text_of(record, how)]
        if text_of(record, "id"):
            _note_mentions(db, SIGNALS, text_of(record, "id"), named, offset)


def _take_edges(db: sqlite3.Connection, lines: Lines) -> None:
    rows = [
        (
            text_of(record, "from_id"),
            text_of(record, "to_id"),
            text_of(record, "type"),
            bool(record.get("removed")),
            offset,
        )
        for offset, record in _decoded(lines)
    ]
    db.executemany("INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?)", rows)


TAKERS: dict[str, Callable[[sqlite3.Connection, Lines], None]] = {
    "nodes": _take_nodes,
    "signals": _take_signals,
    "edges": _take_edges,
}


def _known_part(db: sqlite3.Connection, source: str) -> Part | None:
    row: Part | None = db.execute("SELECT * FROM parts WHERE source = ?", (source,)).fetchone()
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
        return is_same_part(fd, known[1:]) and (growing or known[3] == os.fstat(fd).st_size)

    def _take_in(self, db: sqlite3.Connection, source: str) -> None:
        """Bring the rows of one journal up to what the file holds now."""
        fd, known = self.fds.get(source, -1), _known_part(db, source)
        start = known[3] if known and fd >= 0 and is_same_part(fd, known[1:]) else 0
        if start == 0:
            db.execute(f"DELETE FROM {source}")  # noqa: S608 - one of three constants
            db.execute("DELETE FROM parts WHERE source = ?", (source,))
            db.execute("DELETE FROM mentions WHERE source = ?", (source,))
        if fd < 0:
            return
        end = start
        for until, lines in fresh_lines(fd, start):
            TAKERS[source](db, lines)
            end = until
        part = (source, *place_of(fd, end))
        db.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?)", part)
