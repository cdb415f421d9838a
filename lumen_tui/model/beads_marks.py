"""Nodes and work units as issues and memories of beads, marked so that the way back restores what beads cannot hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from lumen_tui.model import beads, times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.foreign import MARK, Raw, difference, restored
from lumen_tui.model.jsontext import table_of, text_of

_TITLE = 500  # characters that beads takes
_USUAL = 2  # the priority that beads gives what has none
_OPEN, _CLOSED = "open", "closed"
_TYPES = ("bug", "feature", "task", "epic", "chore", "decision", "spike", "story", "milestone")
_UNIT_TYPES = {"bug": "bug", "feature": "feature", "idea": "feature"}
_UNIT_STATES = {"ready": _OPEN, "in_progress": "in_progress", "blocked": "blocked", "done": _CLOSED}
_RELATIONS = {"parent_child": "parent-child", "discovered_from": "discovered-from"}
_BACKWARDS = ("blocks", "parent_child")


def issue_of(node: Raw, dependencies: Sequence[Raw] = ()) -> Raw:
    """Return the issue of a discovery. `found` are its dependencies now; those that beads had are as they were."""
    metadata = table_of(node, "metadata")
    original = table_of(metadata, "beads")
    title, description = _parts(text_of(node, "content"))
    issue: Raw = {
        **original,
        "id": text_of(metadata, "beads_id") or text_of(node, "id"),
        "title": title,
        **({"description": description} if description else {}),
        "issue_type": text_of(original, "issue_type") or next((tag for tag in _tags(node) if tag in _TYPES), "task"),
        "created_at": _date(node.get("created_at")),
        "updated_at": _date(node.get("updated_at") or node.get("created_at")),
        **({"created_by": node["created_by"]} if text_of(node, "created_by") else {}),
    }
    issue["labels"] = [tag for tag in _tags(node) if tag != issue["issue_type"] or tag in _labels(original)]
    issue["priority"] = _priority(metadata, original)
    issue.update(_state(metadata, original, str(issue["updated_at"])))
    known = {
        (text_of(dependency, "type"), text_of(dependency, "depends_on_id")): dependency
        for dependency in beads.dependencies(original)
    }
    issue["dependencies"] = [
        known.get((str(dependency["type"]), str(dependency["depends_on_id"])), dependency)
        for dependency in dependencies
    ]
    for key in ("labels", "dependencies"):
        if not issue[key]:
            del issue[key]
    return _marked(issue, node)


def _marked(issue: Raw, node: Raw) -> Raw:
    """Return the issue with a mark where the way back would give another node."""
    back = beads.node_of(issue)
    ours, theirs = table_of(node, "metadata"), table_of(back, "metadata")
    mark: Raw = {
        "node": difference(_without(node, "metadata"), _without(back, "metadata")),
        "metadata": difference(_without(ours, "beads"), _without(theirs, "beads")),
        "beads": difference(table_of(ours, "beads"), table_of(theirs, "beads")) if "beads" in ours else None,
        "bare": "metadata" not in node,
    }
    return {**issue, "metadata": {**table_of(issue, "metadata"), MARK: mark}}


def node_of(issue: Raw) -> Raw:
    """Return the node of an issue; of one that came from here the node that it was, with what was changed since."""
    mark = table_of(table_of(issue, "metadata"), MARK)
    if not isinstance(mark.get("node"), dict):
        return beads.node_of(issue)
    plain = _plain(issue)
    back = beads.node_of(plain)
    theirs = table_of(back, "metadata")
    metadata = restored(_without(theirs, "beads"), mark.get("metadata"))
    if isinstance(mark.get("beads"), dict):
        metadata["beads"] = restored(table_of(theirs, "beads"), mark["beads"])
    node = restored(_without(back, "metadata"), mark["node"])
    return node if mark.get("bare") and not metadata else {**node, "metadata": metadata}


def _plain(issue: Raw) -> Raw:
    """Return the issue without the mark."""
    others = _without(table_of(issue, "metadata"), MARK)
    return {**issue, "metadata": others} if others else _without(issue, "metadata")


def unit_of(issue: Raw) -> Raw | None:
    """Return `{"front": …, "body": …}` of the work unit that an issue was exported from; None for any other issue."""
    unit = table_of(table_of(table_of(issue, "metadata"), MARK), "unit")
    front = table_of(unit, "front")
    return (
        {"front": front, "body": text_of(unit, "body")} if text_of(front, "id") == issue.get("id") and front else None
    )


def issue_of_unit(front: Raw, body: str) -> Raw:
    """Return the issue of a work unit, from its front matter and its text."""
    created = _date(front.get("created_at"))
    status = _UNIT_STATES.get(text_of(front, "status") or "ready", _OPEN)
    done = front.get("done_at")
    changed = [text_of(front, key) for key in ("claimed_at", "blocked_at", "done_at", "created_at")]
    accepted = front.get("acceptance")
    return {
        "id": front["id"],
        "title": (text_of(front, "title") or str(front["id"]))[:_TITLE],
        "description": body,
        **({"acceptance_criteria": "\n".join(map(str, accepted))} if isinstance(accepted, list) and accepted else {}),
        "status": status,
        "priority": beads_priority(text_of(front, "priority")),
        "issue_type": _UNIT_TYPES.get(text_of(front, "type"), "task"),
        **({"assignee": front["claimed_by"]} if text_of(front, "claimed_by") else {}),
        "created_at": created,
        **({"created_by": front["created_by"]} if text_of(front, "created_by") else {}),
        "updated_at": _date(max(changed, key=times.epoch)),
        **({"closed_at": _date(done or created), "close_reason": "done"} if status == _CLOSED else {}),
        **({"labels": [f"lane:{front['lane']}"]} if text_of(front, "lane") else {}),
        "metadata": {MARK: {"unit": {"front": front, "body": body}}},
    }


def memory_of(node: Raw) -> Raw:
    """Return a note or summary as a memory of beads (`bd remember`)."""
    key = text_of(table_of(node, "metadata"), "beads_memory") or text_of(node, "id")
    memory: Raw = {"_type": "memory", "key": key, "value": text_of(node, "content") or "(empty)"}
    return {**memory, MARK: difference(node, beads.note_of(memory))}


def note_of(memory: Raw) -> Raw:
    """Return the note of a memory; of one that came from here the node that it was."""
    return restored(beads.note_of(memory), memory.get(MARK))


def dependency_of(edge: Raw) -> Raw:
    """Return a relationship as the dependency that beads has on one of its ends, its `issue_id`."""
    backwards = edge.get("type") in _BACKWARDS
    ends = (edge.get("to_id"), edge.get("from_id")) if backwards else (edge.get("from_id"), edge.get("to_id"))
    kind = text_of(edge, "type")
    dependency: Raw = {
        "issue_id": ends[0],
        "depends_on_id": ends[1],
        "type": text_of(edge, "beads_type") or _RELATIONS.get(kind, kind),
        "created_at": _date(edge.get("created_at")),
        **({"created_by": edge["created_by"]} if text_of(edge, "created_by") else {}),
    }
    back = next(beads.edges_of({"id": ends[0], "dependencies": [dependency]}))
    mark = difference(edge, back)
    return {**dependency, "metadata": msgspec.json.encode({MARK: mark}).decode()} if mark else dependency


def edges_of(issue: Raw) -> Iterator[Raw]:
    """Yield the relationships of an issue; those that came from here as they were."""
    for dependency, edge in zip(beads.dependencies(issue), beads.edges_of(issue), strict=True):
        yield restored(edge, _edge_mark(dependency))


def _edge_mark(dependency: Raw) -> object:
    text = text_of(dependency, "metadata")
    if f'"{MARK}"' not in text:
        return None
    try:
        decoded = msgspec.json.decode(text)
    except UNDECODABLE:
        return None
    return decoded.get(MARK) if isinstance(decoded, dict) else None


def beads_priority(ours: str) -> int:
    """Return 0 to 3 for P0 to P3, and what beads gives by itself for none."""
    return int(ours[1]) if ours in ("P0", "P1", "P2", "P3") else _USUAL


def _priority(metadata: Raw, original: Raw) -> int:
    own, ours = beads.priority_of(original), text_of(metadata, "priority")
    return own if own >= 0 and ours == f"P{min(own, 3)}" else beads_priority(ours)


def _state(metadata: Raw, original: Raw, changed: str) -> Raw:
    """Return the fields that say how it is with a discovery: closed, with its reason, or still open."""
    status = text_of(metadata, "status")
    before = text_of(original, "status") or _OPEN
    closed_at = text_of(original, "closed_at") if before == _CLOSED else ""
    if status == "archived":
        reason = text_of(metadata, "archive_reason")
        when = closed_at or _date(metadata.get("archived_at") or changed)
    elif status == "deleted":
        reason, when = "deleted", _date(metadata.get("deleted_at") or changed)
    elif status == "promoted":
        reason = f"promoted to {text_of(metadata, 'promoted_to') or 'a work unit'}"
        when = _date(metadata.get("promoted_at") or changed)
    else:
        return {"status": _OPEN if before in (_CLOSED, "tombstone") else before}
    return {"status": _CLOSED, "closed_at": when, **({"close_reason": reason} if reason else {})}


def _parts(content: str) -> tuple[str, str]:
    title, _, others = content.partition("\n")
    if not title.strip() or len(title) > _TITLE:
        return (title.strip()[:_TITLE] or "(no title)"), content
    return title, others.strip("\n")


def _tags(node: Raw) -> list[str]:
    tags = node.get("tags")
    return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []


def _labels(original: Raw) -> Iterable[object]:
    labels = original.get("labels")
    return labels if isinstance(labels, list) else ()


def _date(value: object) -> str:
    """Return a date with a zone, as its reader wants it."""
    text = value if isinstance(value, str) else ""
    seconds = times.epoch(text)
    has_zone = "T" in text and (text.endswith("Z") or text[-6:-5] in ("+", "-"))
    return text if seconds and has_zone else times.iso(seconds)


def _without(record: Raw, key: str) -> Raw:
    return {name: value for name, value in record.items() if name != key}
