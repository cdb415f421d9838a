"""What a search looks through, one document for each thing: how the lines of each journal become documents.

Every text is made safe on the way in, so that nothing that is shown later can act on a terminal, and so that the marks
that the index puts around matches are in no text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from lumen_tui.model import times
from lumen_tui.model.archive import KINDS, USUAL, WITHDRAWN
from lumen_tui.model.beads import texts_of
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.searching import spread
from lumen_tui.model.tasks import Exit, Spec
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.work import WorkUnit
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.tasks.task_records import DamagedTask, read_json, read_spec

LONGEST = 20_000  # characters of one document; of longer ones the beginning
_PRIORITIES = {"P0": 0.95, "P1": 0.8, "P2": 0.5, "P3": 0.3}
_TYPES = {"summary": 0.6, "checkpoint": 0.45, "session": 0.3, "discovery": 0.5, "note": 0.5}
_EPISODES = ("session", "checkpoint")
_ARCHIVED_FACTOR = 0.6  # of its importance is left to what was archived
Again = Callable[[], object]
_decode = msgspec.json.Decoder(dict[str, object]).decode


class IndexedDocument(NamedTuple):
    """A row of the index. `gone` removes the row of this id."""

    ref: str
    type: str = ""
    kind: str = ""
    at: float = 0.0
    importance: float = USUAL
    status: str = ""
    wu: str = ""
    lane: str = ""
    session: str = ""
    by: str = ""
    source: str = ""
    trust: str = ""
    place: str = ""
    tags: str = ""  # in lower case, each between bars
    text: str = ""
    gone: bool = False


COLUMNS = IndexedDocument._fields[:-1]
LineReader = Callable[[bytes], IndexedDocument | None]


def _raw(line: bytes) -> Raw:
    try:
        return _decode(line)
    except UNDECODABLE:
        return {}


def _short(value: str, limit: int) -> str:
    """Return `one_line` of a value, quickly where it needs no change."""
    return value if len(value) <= limit and value.isascii() and value.isprintable() else one_line(value, limit)


def _text(record: Raw, name: str, limit: int = 200) -> str:
    value = record.get(name)
    return _short(value, limit) if value and isinstance(value, str) else ""


def indexed_text(text: object) -> str:
    """Return a text as it is indexed and shown: safe and of limited length."""
    return spread(safe(text[:LONGEST])) if isinstance(text, str) else ""


def tag_column(tags: object) -> str:
    """Return tags as the index keeps them."""
    if not isinstance(tags, (list, tuple)):
        return ""
    labels = [_short(tag, 100).casefold().replace("|", "/") for tag in tags if isinstance(tag, str)]
    return f"|{'|'.join(labels)}|" if labels else ""


def _kind(meta: Raw, usual: str) -> str:
    kind = meta.get("kind")
    return kind if kind in KINDS else usual


def _fraction(value: object, usual: float) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return usual
    return float(value) if 0 <= value <= 1 else usual


def node(line: bytes) -> IndexedDocument | None:
    """Return the document of a line of memory.jsonl."""
    record = _raw(line)
    ref, meta = _text(record, "id"), record.get("metadata")
    if not ref:
        return None
    meta = meta if isinstance(meta, dict) else {}
    status, type = _text(meta, "status") or "open", _text(record, "type")
    if status == "deleted":
        return IndexedDocument(ref, gone=True)
    fact = meta.get("fact")
    source = _text(meta, "source") or (_text(fact, "source") if isinstance(fact, dict) else "")
    return IndexedDocument(
        ref,
        "fact" if isinstance(fact, dict) else type,
        _kind(meta, "episodic" if type in _EPISODES else "semantic"),
        times.epoch(_text(record, "created_at")),
        _importance(meta, type, status),
        status,
        _text(record, "wu_id"),
        _text(meta, "lane"),
        _text(record, "session_id"),
        _text(record, "created_by"),
        source or _text(meta, "task_id"),
        _text(meta, "trust"),
        "",
        tag_column(record.get("tags")),
        indexed_text(_whole_text(record, meta)),
    )


def _whole_text(record: Raw, meta: Raw) -> object:
    """Return the content, of an issue of beads with what its people wrote beside it."""
    content, issue = record.get("content"), meta.get("beads")
    if not isinstance(content, str) or not isinstance(issue, dict):
        return content
    return "\n\n".join([content, *texts_of(issue)])


def _importance(meta: Raw, type: str, status: str) -> float:
    usual = _PRIORITIES.get(str(meta.get("priority")), _TYPES.get(type, USUAL))
    importance = max(0.8 if meta.get("pinned") is True else 0.0, _fraction(meta.get("importance"), usual))
    return importance * _ARCHIVED_FACTOR if status == "archived" else importance


def passage(line: bytes) -> IndexedDocument | None:
    """Return the document of a line of archival.jsonl."""
    record = _raw(line)
    ref = _text(record, "id")
    if not ref or record.get("status") == WITHDRAWN:
        return IndexedDocument(ref, gone=True) if ref else None
    return IndexedDocument(
        ref,
        "archival",
        _kind(record, "semantic"),
        times.epoch(_text(record, "created_at")),
        _fraction(record.get("importance"), USUAL),
        "",
        _text(record, "wu_id"),
        _text(record, "lane"),
        _text(record, "session_id"),
        _text(record, "created_by"),
        _text(record, "source", 400),
        _text(record, "trust") or "person",
        "",
        tag_column(record.get("tags")),
        indexed_text(record.get("content")),
    )


def signal(line: bytes) -> IndexedDocument | None:
    """Return the document of a line of signals.jsonl, or of the archive that cleanup puts them into."""
    record = _raw(line)
    ref = _text(record, "id")
    if not ref:
        return None
    return IndexedDocument(
        ref,
        "signal",
        "episodic",
        times.epoch(_text(record, "created_at")),
        _PRIORITIES.get(_text(record, "priority"), 0.35),
        "",
        _text(record, "wu_id"),
        _text(record, "lane"),
        "",
        _text(record, "sender"),
        _text(record, "task_id"),
        "",
        "",
        "",
        indexed_text(record.get("message")),
    )


def packet(line: bytes) -> IndexedDocument | None:
    """Return the document of a packet: what a loop did, decided, made, left out and wrote for the next one."""
    record = _raw(line)
    ref = _text(record, "id")
    if not ref:
        return None
    lines = [f"loop {record.get('loop')}", *_packet_lines(record)]
    return IndexedDocument(
        ref,
        "packet",
        "episodic",
        times.epoch(_text(record, "completed_at")),
        0.5,
        by=_text(record, "brain"),
        session=_text(record, "session"),
        source=_text(record, "task_id"),
        text=indexed_text("\n".join(lines)),
    )


def _packet_lines(record: Raw) -> Iterator[str]:
    for name in ("done", "decided", "made", "abandoned", "decided_against", "next"):
        entries = record.get(name)
        for entry in entries if isinstance(entries, list) else ():
            words = entry.values() if isinstance(entry, dict) else (entry,)
            if text := " ".join(word for word in words if isinstance(word, str)):
                yield f"{name.replace('_', ' ')}: {text}"
    if isinstance(record.get("wake_state"), str):
        yield record["wake_state"]


def task(folder: Path) -> IndexedDocument:
    """Return the document of an ended task: objective and result. One that cannot be read has no text."""
    try:
        spec, ended = read_spec(folder), read_json(folder / "exit.json", Exit)
        result = (files.read(folder / "result.md", 4 * LONGEST) or b"").decode(errors="replace")
    except (DamagedTask, files.StoreError, OSError):
        spec, ended, result = Spec(id=folder.name, objective=""), None, ""
    ended = ended or Exit(task_id=folder.name, status="lost", finished_at="")
    return IndexedDocument(
        folder.name,
        "task",
        "episodic",
        times.epoch(ended.finished_at),
        _PRIORITIES.get(spec.priority, USUAL),
        one_line(ended.status, 20),
        one_line(spec.wu_id, 20),
        one_line(spec.lane, 100),
        one_line(ended.session, 80),
        one_line(spec.role, 64),
        f"task of {one_line(spec.created_by, 100)}",
        "worker",
        "",
        "",
        indexed_text(f"{spec.objective}\n{result}"),
    )


def unit(work_unit: WorkUnit) -> IndexedDocument:
    """Return the document of a work unit: its id, what it is about, and when it is accepted."""
    return IndexedDocument(
        work_unit.id,
        "unit",
        "semantic",
        times.epoch(work_unit.created_at),
        _PRIORITIES.get(work_unit.priority, USUAL),
        one_line(work_unit.status, 20),
        work_unit.id,
        one_line(work_unit.lane, 100),
        by=one_line(work_unit.created_by, 64),
        text=indexed_text("\n".join([f"{work_unit.id} {work_unit.title}", *work_unit.acceptance, work_unit.body])),
    )


def edge(line: bytes) -> tuple[str, str, str, bool] | None:
    """Return (from, to, how, whether it was removed) of a line of relationships.jsonl."""
    record = _raw(line)
    start, finish = _text(record, "from_id"), _text(record, "to_id")
    removed = record.get("removed") is True or bool(_text(record, "removed_at"))
    return (start, finish, _text(record, "type"), removed) if start and finish else None


JOURNALS: dict[str, tuple[Callable[[Layout], Path], LineReader]] = {
    "memory": (lambda layout: layout.memory, node),
    "archival": (lambda layout: layout.archival, passage),
    "signals": (lambda layout: layout.signals, signal),
    "signal archive": (lambda layout: layout.memory_archive, signal),
    "packets": (lambda layout: layout.packets, packet),
}


def journal_docs(layout: Layout) -> Iterator[IndexedDocument]:
    """Yield every valid document of the journals, read at once: for a search without an index."""
    from lumen_tui.storage.journal import Journal

    for path, read in JOURNALS.values():
        newest: dict[str, IndexedDocument] = {}
        for line in Journal(path(layout)).lines():
            if (doc := read(line)) is not None:
                newest[doc.ref] = doc
        yield from (doc for doc in newest.values() if not doc.gone)
