"""Which lines of the journals belong to a work unit: an index that may be thrown away at any time.

index/trail.db is keyed to each journal by device, inode, the part that was taken in, and hashes of the first and
the last bytes of that part; where any of these differ that journal is read again. Otherwise only what was
added since the last time is read, so that a longer history costs no more. Where the file cannot be used,
the index is made in memory. Lines are always read from the journals themselves, never from here.
"""

from __future__ import annotations

from lumen_tui.model import jsontext, times
from lumen_tui.model.text import one_line, safe_all
from lumen_tui.model.views import Blocker, NodeView, SignalView
from lumen_tui.queries.trail_file import ALL, NODES, SIGNALS, TrailFile
from lumen_tui.storage import backwards
from lumen_tui.store.work import views

BLOCKS = "blocks"  # a relation
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lumen_tui.model.views import Plain
    from lumen_tui.storage.layout import Folder, Layout

DISCOVERY, CHECKPOINT, SESSION, NOTE, SUMMARY = "discovery", "checkpoint", "session", "note", "summary"
PENDING, DECISION, HANDOFF = "pending", "decision", "handoff"  # of notes: a question, an answered one, for the next
KINDS = (DISCOVERY, CHECKPOINT, SESSION, NOTE, SUMMARY, PENDING, DECISION, HANDOFF)


def _fields(kind: type[Plain], raw: dict[str, object]) -> dict[str, object]:
    """Return the fields of a line that this kind knows, made safe; those of a wrong type get their defaults."""
    known = {name: raw[name] for name in kind.__annotations__ if name in raw}
    cleaned = {name: safe_all(value) for name, value in known.items()}
    return {name: value for name, value in cleaned.items() if type(value) is type(getattr(kind, name))}


def node_view(raw: dict[str, object]) -> NodeView:
    """Return a node as it may be shown."""
    fields = _fields(NodeView, raw)
    tags = fields.get("tags")
    fields["tags"] = tuple([tag for tag in tags if isinstance(tag, str)]) if isinstance(tags, tuple) else ()
    return NodeView(**fields)


def signal_view(raw: dict[str, object]) -> SignalView:
    """Return a signal as it may be shown."""
    return SignalView(**_fields(SignalView, raw))


class Trail:
    """The journals as they are now. Use it as a context manager."""

    def __init__(self, layout: Layout, sources: Iterable[str] = ALL) -> None:
        self._file = TrailFile(layout, sources)

    def __enter__(self) -> Trail:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index and the journals."""
        self._file.close()

    def _nodes(self, rows: Iterable[tuple[int, str]]) -> Iterator[NodeView]:
        for offset, identifier in rows:
            record = jsontext.decode(backwards.line_at(self._file.fds[NODES], offset))
            if record and record.get("id") == identifier:
                yield node_view(record)

    def _rows(self, query: str, values: tuple[object, ...]) -> list[tuple[int, str]]:
        return self._file.db.execute(f"SELECT at, id FROM nodes WHERE {query}", values).fetchall()  # noqa: S608 - as above

    def newest(self, wu_id: str, kinds: tuple[str, ...], limit: int, *, any_state: bool = False) -> list[NodeView]:
        """Return the newest open nodes of these kinds, by their place in the journal, newest first."""
        marks = ",".join("?" * len(kinds))
        state = "" if any_state else "AND open"
        query = f"wu = ? AND kind IN ({marks}) {state} ORDER BY first DESC LIMIT ?"
        return list(self._nodes(self._rows(query, (wu_id, *kinds, limit))))

    def ready(self, wu_id: str, kinds: tuple[str, ...], limit: int) -> list[NodeView]:
        """Return open nodes by priority, date and id."""
        marks = ",".join("?" * len(kinds))
        query = f"wu = ? AND kind IN ({marks}) AND open ORDER BY rank, created, id LIMIT ?"
        return list(self._nodes(self._rows(query, (wu_id, *kinds, limit))))

    def count(self, wu_id: str, kinds: tuple[str, ...]) -> int:
        """Return how many open nodes of these kinds there are."""
        marks = ",".join("?" * len(kinds))
        query = f"SELECT count(*) FROM nodes WHERE wu = ? AND kind IN ({marks}) AND open"  # noqa: S608 - marks only
        return int(self._file.db.execute(query, (wu_id, *kinds)).fetchone()[0])

    def ids(self, wu_id: str, kind: str, *, after: int = 0) -> list[str]:
        """Return ids of open nodes, newest first, without the first `after`."""
        query = "wu = ? AND kind = ? AND open ORDER BY first DESC LIMIT -1 OFFSET ?"
        return [identifier for _, identifier in self._rows(query, (wu_id, kind, after))]

    def project(self, limit: int) -> list[NodeView]:
        """Return the newest open project-wide nodes."""
        return list(self._nodes(self._rows("project AND open ORDER BY first DESC LIMIT ?", (limit,))))

    def project_count(self) -> int:
        """Count the open project-wide nodes."""
        return int(self._file.db.execute("SELECT count(*) FROM nodes WHERE project AND open").fetchone()[0])

    def node(self, node_id: str) -> NodeView | None:
        """Return one node of any state."""
        return next(self._nodes(self._rows("id = ?", (node_id,))), None)

    def record(self, node_id: str) -> dict[str, object] | None:
        """Return the newest record of a node; None where there is none."""
        for offset, identifier in self._rows("id = ?", (node_id,)):
            record = jsontext.decode(backwards.line_at(self._file.fds[NODES], offset))
            if record and record.get("id") == identifier:
                return record
        return None

    def is_open(self, node_id: str) -> bool:
        """Return whether a node exists and is still open."""
        return bool(self._rows("id = ? AND open", (node_id,)))

    def signals(self, wu_id: str, limit: int) -> list[SignalView]:
        """Return the newest signals about a work unit, newest first."""
        query = "SELECT at FROM signals WHERE wu = ? ORDER BY at DESC LIMIT ?"
        views = []
        for (offset,) in self._file.db.execute(query, (wu_id, limit)).fetchall():
            record = jsontext.decode(backwards.line_at(self._file.fds[SIGNALS], offset))
            if record and record.get("wu_id") == wu_id:
                views.append(signal_view(record))
        return views

    def sources_of(self, to_id: str, kind: str) -> list[str]:
        """Return the ids from which edges of this kind lead to `to_id`, in the order in which they were added."""
        query = "SELECT start FROM edges WHERE finish = ? AND kind = ? AND NOT removed ORDER BY at"
        return [start for (start,) in self._file.db.execute(query, (to_id, kind)).fetchall()]

    def mentions(self, source: str, name: str) -> list[tuple[str, str, str]]:
        """Return (owner, how, other) where a node or signal names a thing or is it, in the order of the owners."""
        joined, order = ("JOIN nodes ON nodes.id = owner", "nodes.first") if source == NODES else ("", "mentions.at")
        where = "WHERE source = ? AND (owner = ? OR other = ?)"
        query = f"SELECT owner, how, other FROM mentions {joined} {where} ORDER BY {order}, mentions.rowid"  # noqa: S608
        return self._file.db.execute(query, (source, name, name)).fetchall()

    def knows(self, wu_id: str) -> bool:
        """Return whether any record is about this work unit."""
        node = self._file.db.execute("SELECT 1 FROM nodes WHERE wu = ? LIMIT 1", (wu_id,)).fetchone()
        return bool(node or self._file.db.execute("SELECT 1 FROM signals WHERE wu = ? LIMIT 1", (wu_id,)).fetchone())


def blockers(store: Folder, trail: Trail, identifier: str, *, now: float) -> list[Blocker]:
    """Return what is still open among the things that block a work unit or a node."""
    known = [_blocker(store, trail, source, now) for source in trail.sources_of(identifier, BLOCKS)]
    return [blocker for blocker in known if blocker is not None]


def _blocker(store: Folder, trail: Trail, identifier: str, now: float) -> Blocker | None:
    """Return one blocking thing, None where it is closed or gone."""
    if not identifier.startswith("WU-"):
        node = trail.node(identifier) if trail.is_open(identifier) else None
        return _blocker_of(node.id, node.title, node.status, node.created_by, node.created_at, now) if node else None
    try:
        unit = views.read_unit(store.root, identifier)
    except ValueError:  # no id of a work unit, or a broken file
        return Blocker(id=identifier, title="(its file cannot be read)", status="unknown")
    if unit is None or unit.status == "done":
        return None
    at = unit.claimed_at or unit.created_at
    who = unit.claimed_by or unit.created_by
    return _blocker_of(unit.id, unit.title, unit.status, who, at, now)


def _blocker_of(identifier: str, title: str, status: str, by: str, at: str, now: float) -> Blocker:
    age = max(0.0, now - times.epoch(at, now))
    return Blocker(
        id=identifier, title=one_line(title, 200), status=one_line(status, 40), by=by, at=at, age_seconds=age
    )
