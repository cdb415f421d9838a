"""Lasting knowledge: the nodes used most, the project's documents indexed as nodes, and notes in the archive."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import msgspec

from lumen_tui.actions import checks, edits, places
from lumen_tui.actions.cleanup import lifecycle_of
from lumen_tui.actions.edits import Side
from lumen_tui.actions.facts import is_agent
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.model import fields, ids, times
from lumen_tui.model.archive import WITHDRAWN, Passage, passage
from lumen_tui.model.digests import sha256
from lumen_tui.model.ids import short_hash
from lumen_tui.model.records import Action, Change, Touch
from lumen_tui.model.requests.memory import IndexProject, InsertPassage, WithdrawPassage
from lumen_tui.model.text import one_line
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import archive, nodes
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.tasks import task_files
from lumen_tui.store.work import open_sessions

DOCUMENTS = (
    "README.md",
    "LUMENFLOW.md",
    "package.json",
    "workspace.yaml",
    "constraints.md",
    ".lumenflow/constraints.md",
)
SIZE = 2000  # characters of one node
TAG = "project-index"
_LARGEST = 4 * 1024 * 1024  # bytes of a document that are read


class Known(msgspec.Struct, frozen=True):
    """A node of the project's lasting knowledge and how often it was used."""

    id: str
    type: str
    content: str
    tags: tuple[str, ...]
    uses: int
    last_used: str  # or when it was written, where it was not used since


def profile(store: Store, *, limit: int = 20, tag: str = "") -> list[Known]:
    """Return project-wide nodes, the most used first, then the newest."""
    if limit < 1:
        raise ActionError("--limit needs a number from 1 up")
    label = fields.label(tag, "tag")
    uses, last = _uses(store)
    known = [
        _known(node, uses[str(node["id"])], last.get(str(node["id"]), ""))
        for node in newest_nodes(store.layout)
        if edits.status_of(node) == "open" and lifecycle_of(node) == "project" and (not label or label in _tags(node))
    ]
    known.sort(key=lambda entry: (entry.uses, times.epoch(entry.last_used)), reverse=True)
    return known[:limit]


def _uses(store: Store) -> tuple[Counter[str], dict[str, str]]:
    """Return how often each node was touched, and when last."""
    uses: Counter[str] = Counter()
    last: dict[str, str] = {}
    for touch in store.touches.records(Touch):
        uses[touch.node_id] += 1
        last[touch.node_id] = max(touch.at, last.get(touch.node_id, ""))
    return uses, last


def _known(node: Raw, uses: int, last: str) -> Known:
    legacy = nodes.get_field(node, "metadata.access.count")
    accessed = nodes.get_field(node, "metadata.access.last_accessed_at")
    dates = [text for text in (last, accessed, node.get("created_at")) if isinstance(text, str) and text]
    return Known(
        str(node["id"]),
        str(node.get("type", "")),
        str(node.get("content", "")),
        _tags(node),
        uses + (legacy if isinstance(legacy, int) else 0),
        dates[0] if dates else "",
    )


def _tags(node: Raw) -> tuple[str, ...]:
    tags = node.get("tags")
    return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()


class Document(msgspec.Struct, frozen=True):
    """One document of a project: its node, and whether that is `new`, `changed` or `unchanged`."""

    name: str
    node_id: str
    state: str
    content: str
    sha256: str


def documents(store: Store, folder: str) -> list[Document]:
    """Return what an index of the project in `folder` would take in. ActionError where there is nothing."""
    place = Path(folder).resolve()
    texts = [(name, data) for name in DOCUMENTS if (data := _read(place / name)) is not None]
    if not texts:
        raise ActionError(f"{place} holds none of {', '.join(DOCUMENTS)}", missing=True)
    ids = {name: f"mem-{short_hash(f'index {place} {name}')}" for name, _ in texts}
    known = {node_id: node for node_id, (_, node) in nodes.find(store.layout.memory, ids.values()).items()}
    return [_document(name, data, ids[name], known.get(ids[name])) for name, data in texts]


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ActionError(f"{path} cannot be read: {error.strerror}") from error


def _document(name: str, data: bytes, node_id: str, node: Raw | None) -> Document:
    digest = sha256(data)
    state = "new"
    if node is not None and edits.status_of(node) != "deleted":
        state = "unchanged" if nodes.get_field(node, "metadata.source_hash") == digest else "changed"
    return Document(name, node_id, state, _summary(name, data.decode(errors="replace")), digest)


def _summary(name: str, text: str) -> str:
    """Return the beginning of a document, or the main fields of a package file; at most SIZE characters."""
    body = (_package(text) if name.endswith(".json") else "") or text.lstrip("\ufeff").strip() or "(empty)"
    whole = f"{name}\n{body}"
    if len(whole) <= SIZE:
        return whole
    cut = whole[: SIZE - 2]
    return cut[: max(cut.rfind("\n"), SIZE // 2)].rstrip() + "\n…"


def _package(text: str) -> str:
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(package, dict):
        return ""
    parts = [f"{key}: {package[key]}" for key in ("name", "version", "description", "license") if key in package]
    for key in ("scripts", "dependencies", "devDependencies"):
        table = package.get(key)
        if isinstance(table, dict) and table:
            rows = (
                [f"  {name}: {value}" for name, value in table.items()]
                if key == "scripts"
                else ["  " + ", ".join(table)]
            )
            parts += [f"{key}:", *rows]
    return "\n".join(parts)


def index(store: Store, request: IndexProject, *, by: str, now: float) -> Done:
    """Write all changed documents in one write of the memory; ids follow from folder and name."""
    to_index = [document for document in documents(store, request.folder) if document.state != "unchanged"]
    if not to_index:
        raise ActionError("every document is indexed as it is", missing=True)
    actions: list[Action] = []

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        pairs = [_record(document, records.get(document.node_id), by=by, now=now) for document in to_index]
        names = ", ".join(document.name for document in to_index)
        summary = f"{len(to_index)} document{'' if len(to_index) == 1 else 's'} indexed: {names}"
        actions.append(
            edits.new_action("memory.index", [change for _, change in pairs], summary=summary, by=by, now=now)
        )
        return [record for record, _ in pairs], journal.begun_lines(actions[0])

    nodes.change(store.layout, [document.node_id for document in to_index], edit)
    return Done(summary=actions[0].summary, target=to_index[0].node_id, action_id=actions[0].id)


def _record(document: Document, existing: Raw | None, *, by: str, now: float) -> tuple[Raw, Change]:
    """Return the node and the change that makes it; its `before` is the status deleted."""
    blank: Raw = {
        "id": document.node_id,
        "type": "summary",
        "lifecycle": "project",
        "content": "",
        "created_at": times.iso(now),
        "created_by": by,
        "tags": [TAG],
        "metadata": {"source_file": document.name, "status": "deleted"},
        "schema": 1,
    }
    values = {
        "content": fields.prose(document.content, "document"),
        "metadata.source_hash": document.sha256,
        "metadata.status": None,
    }
    record = existing or blank
    return record, edits.patch(record, values, by=by, now=now)


KIND = "archival"  # of a change


def insert(store: Store, request: InsertPassage, *, by: str, now: float) -> Done:
    """Append to archival.jsonl with the action; undo withdraws the note."""
    writer = _writer(store, by, request.task_id)
    note = passage(
        request.text,
        by=by,
        now=now,
        tags=tuple(request.tags),
        importance=request.importance,
        kind=request.kind,
        source=request.source,
        lane=request.lane,
        key=request.key,
        trust=request.trust or ("agent" if writer or is_agent(store.layout, by) else "person"),
        task_id=writer,
        wu_id=checks.known_unit(store.layout, request.wu_id),
        session_id=_session(store, by, request.session_id),
    )
    summary = f"kept {_quoted(note)} in the archive"
    change = Change(KIND, note.id, before={"status": WITHDRAWN}, after={"status": ""})
    action = edits.new_action("archive.insert", [change], summary=summary, by=by, now=now)
    if not archive.append(store.layout, [note], journal.begun_lines(action)):
        return Done(summary=f"{note.id} is in the archive already: nothing was written", target=note.id)
    return Done(summary=summary, target=note.id, action_id=action.id)


def _session(store: Store, by: str, named: str) -> str:
    """Return the session that a note comes from: the one named, or the open one of its author."""
    if named:
        return places.session_at(store.root, named).session_id
    newest = open_sessions.newest(store.root, by)
    return newest.session_id if newest else ""


def _writer(store: Store, by: str, task_id: str) -> str:
    """Return the task that wrote a note: the one named, or the author if that is a task."""
    if task_id:
        return checks.task_id(store, task_id)
    return by if by.startswith(("tsk-", "loop-")) and task_files.folder_of(store.layout, by) else ""


def withdraw(store: Store, request: WithdrawPassage, *, by: str, now: float) -> Done:
    """Set the status of the note in its journal, with the action."""
    note = _resolve(store, request.passage_id)
    if note.status == WITHDRAWN:
        raise ActionError(f"{note.id} is withdrawn already")
    summary = f"took {_quoted(note)} out of the archive"
    change = Change(KIND, note.id, before={"status": ""}, after={"status": WITHDRAWN})
    action = edits.new_action("archive.withdraw", [change], summary=summary, by=by, now=now, reason=request.reason)
    archive.set_status(store.layout, note.id, WITHDRAWN, journal.begun_lines(action))
    return Done(summary=summary, target=note.id, action_id=action.id)


def _quoted(note: Passage) -> str:
    return f"“{one_line(note.content.partition(chr(10))[0], 60)}”"


def _resolve(store: Store, text: str) -> Passage:
    """Return the note with this id or unique beginning of one."""
    try:
        name = archive.resolve(store.layout, ids.check_file_name(text, "archive id"))
    except ids.Ambiguous as error:
        raise ambiguous(text, error.candidates) from error
    except LookupError:
        raise ActionError(f"there is no note {text!r} in the archive", missing=True) from None
    if note := archive.find(store.layout, [name]).get(name):
        return note
    raise ActionError(f"the note {name} cannot be read: its line holds no note")


def passage_now(store: Store, change: Change) -> Side | None:
    """For undo: the note's current status; a missing note counts as withdrawn."""
    note = archive.find(store.layout, [change.key]).get(change.key)
    return {"status": note.status if note else WITHDRAWN}


def put_passage(store: Store, change: Change) -> None:
    """For undo: give a note the status of the change's `after`."""
    try:
        archive.set_status(store.layout, change.key, str((change.after or {}).get("status", "")))
    except LookupError:
        raise ActionError(f"the note {change.key} is not there: insert it again") from None
