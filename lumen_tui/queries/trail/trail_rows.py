"""The rows of the trail index: how lines of each journal become them, and how a known part is recognised."""

from __future__ import annotations

import os
import zlib

from lumen_tui.model import jsontext
from lumen_tui.model.kinds import LIFECYCLE_BY_TYPE, NODE_TYPES, is_decided, priority_rank
from lumen_tui.storage import files
from lumen_tui.storage.line_access import split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from typing import Any

    Lines = list[tuple[int, bytes]]

_CHUNK = 1024 * 1024
_EDGE = 4096  # bytes hashed at each end of the known part

_MANY = 1000  # lines from which a quick reader is worth its loading

VERSION = 2  # says that the database was made by this
TABLES = """
DROP TABLE IF EXISTS parts; DROP TABLE IF EXISTS nodes; DROP TABLE IF EXISTS signals; DROP TABLE IF EXISTS edges;
CREATE TABLE parts (source TEXT PRIMARY KEY, dev INT, ino INT, done INT, head INT, tail INT);
CREATE TABLE nodes (id TEXT PRIMARY KEY, wu TEXT, kind TEXT, open INT, rank INT, created TEXT, project INT,
    first INT, at INT) WITHOUT ROWID;
CREATE INDEX nodes_wu ON nodes (wu, kind, open, first);
CREATE INDEX nodes_project ON nodes (first) WHERE project AND open;
CREATE TABLE signals (wu TEXT, at INT, PRIMARY KEY (wu, at)) WITHOUT ROWID;
CREATE TABLE edges (start TEXT, finish TEXT, kind TEXT, removed INT, at INT, PRIMARY KEY (finish, kind, start))
    WITHOUT ROWID;
PRAGMA user_version = 2;
"""


def part_hashes(fd: int, end: int) -> tuple[int, int]:
    """Checksums of the first and of the last bytes of the part that ends at `end`."""
    size = min(_EDGE, end)
    return zlib.crc32(os.pread(fd, size, 0)), zlib.crc32(os.pread(fd, size, end - size))


def is_same_part(fd: int, stat: os.stat_result, known: tuple[Any, ...]) -> bool:
    """Return whether the file still begins with the part that was taken in."""
    _, dev, ino, end, *hashes = known
    if (dev, ino) != (stat.st_dev, stat.st_ino) or end > stat.st_size:
        return False
    return part_hashes(fd, end) == tuple(hashes)


def fresh_lines(fd: int, start: int) -> Iterator[tuple[int, Lines]]:
    """(end of what was read, its lines with their offsets) from `start`; a torn tail is left for the next time."""
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
        yield start + end, split_lines(data[begin:end], start + begin)
        start += end


def _decoded(lines: Lines) -> Iterator[tuple[int, dict[str, Any]]]:
    for offset, line in lines:
        record = jsontext.decode(line)
        if record is not None:
            yield offset, record


def _text(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _take_nodes(db: sqlite3.Connection, lines: Lines) -> None:
    rows = [_node_row(offset, record) for offset, record in _decoded(lines) if _text(record, "id")]
    db.executemany(
        "INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET wu = excluded.wu, "
        "kind = excluded.kind, open = excluded.open, rank = excluded.rank, created = excluded.created, "
        "project = excluded.project, at = excluded.at",
        rows,
    )


def _node_row(offset: int, record: dict[str, Any]) -> tuple[Any, ...]:
    metadata = record.get("metadata")
    meta: dict[str, Any] = metadata if isinstance(metadata, dict) else {}
    kind = record.get("type") if record.get("type") in NODE_TYPES else "note"
    lifecycle = _text(record, "lifecycle") or LIFECYCLE_BY_TYPE[str(kind)]
    state = meta.get("status")
    ended = meta.get("summarized_into") or meta.get("ended_at") or meta.get("taken_at") or lifecycle == "ephemeral"
    priority = meta.get("priority")
    return (
        record["id"],
        _text(record, "wu_id"),
        _kind(str(kind), record, meta),
        state in (None, "", "open") and not ended,
        priority_rank(priority if isinstance(priority, str) else ""),
        _text(record, "created_at"),
        lifecycle == "project" and kind != "summary",
        offset,
        offset,
    )


def _kind(kind: str, record: dict[str, Any], meta: dict[str, Any]) -> str:
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
        rows = [(_text(record, "wu_id"), offset) for offset, record in _decoded(about)]
    else:
        from lumen_tui.store.signals import signal_index

        rows = list(signal_index.units_of_lines(about))
    db.executemany("INSERT OR REPLACE INTO signals VALUES (?, ?)", rows)


def _take_edges(db: sqlite3.Connection, lines: Lines) -> None:
    rows = [
        (_text(record, "from_id"), _text(record, "to_id"), _text(record, "type"), bool(record.get("removed")), offset)
        for offset, record in _decoded(lines)
    ]
    db.executemany("INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?)", rows)


TAKERS: dict[str, Callable[[sqlite3.Connection, Lines], None]] = {
    "nodes": _take_nodes,
    "signals": _take_signals,
    "edges": _take_edges,
}
