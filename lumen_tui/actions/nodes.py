"""Memory nodes: create, archive, restore, delete, and promote to lasting knowledge."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from lumen_tui.actions import checks, decay, edits, places, refusal, relations
from lumen_tui.actions.edits import Fields
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import fields, ids, times
from lumen_tui.model.fields import archived as archived
from lumen_tui.model.ids import short_hash
from lumen_tui.model.records import Action, Change
from lumen_tui.model.requests.memory import ArchiveNodes, CreateNode, DeleteNodes, PromoteNodes, UnarchiveNodes
from lumen_tui.storage import raw_json
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.edges import Edge
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.memory.node_index import AgeIndex
from lumen_tui.store.memory.nodes import Raw, get_field

BACK_TO_OPEN: Fields = {
    "metadata.status": None,
    "metadata.archived_at": None,
    "metadata.archived_by": None,
    "metadata.archive_reason": None,
}
TAGS = ("decision", "convention", "pattern", "pitfall", "interface", "invariant", "faq")


def create(store: Store, request: CreateNode, *, by: str, now: float) -> Done:
    """Append a node; `discovered_from` links it to the node that was being worked on when it was noticed.

    The same `key` gives the same node. A missing work unit is made.
    """
    source = checks.node_ids(store, request.discovered_from)[0] if request.discovered_from else ""
    unit_id = places.work_to_be(store.root, request.wu_id) if request.wu_id else ""
    described = fields.node(
        request.content,
        by=by,
        now=now,
        type=request.type,
        tags=request.tags,
        priority=request.priority,
        session_id=request.session_id,
        wu_id=unit_id,
    )
    unit_note = places.ensure_unit(store.root, unit_id, by=by, now=now)
    record = fields.keyed(described, request.key)
    summary = f"{record['type']} noted"
    links = []
    if source and not (request.key and _linked(store, record["id"], source)):
        links.append(relations.edge_change(Edge(record["id"], source, "discovered_from"), by=by, now=now))
    changes = [edits.made_node(record), *links]
    action = edits.new_action("node.create", changes, summary=f"{summary}: {edits.quoted(record)}", by=by, now=now)
    is_new = edits.add_node(store, record, action, once=bool(request.key))
    for link in links:
        relations.put_edge(store, link)
    if not is_new:
        return Done(summary=f"{record['type']} was there already under this key", target=record["id"])
    twin = raw_json.same_text(store.layout.memory, record["id"])
    aside = "; ".join(filter(None, (unit_note, fields.said_before(twin) if twin else "")))
    return Done(summary=summary, target=record["id"], action_id=action.id, aside=aside)


def _linked(store: Store, start: str, finish: str) -> bool:
    """Return whether the link exists: an interrupted call may have left the node alone."""
    words = (f'"{start}"'.encode(), f'"{finish}"'.encode())
    return any(all(end in line for end in words) for line in store.relationships.lines())


def archive(store: Store, request: ArchiveNodes, *, by: str, now: float) -> Done:
    """Set status, reason and who on all of them in one write."""
    clean_reason = checks.reason(request.reason)

    def decide(node: Raw) -> Fields:
        edits.must_be_open(node)
        return archived(clean_reason, by=by, now=now)

    full_ids = checks.node_ids(store, request.node_ids)
    return edits.edit_nodes(
        store, full_ids, decide, verb="node.archive", template="{} archived", by=by, now=now, reason=clean_reason
    )


def unarchive(store: Store, request: UnarchiveNodes, *, by: str, now: float) -> Done:
    """Remove the fields that `archive` set, then touch the nodes, as an action of the same group."""

    def decide(node: Raw) -> Fields:
        if edits.status_of(node) != "archived":
            raise ActionError(f"{edits.quoted(node)} is {edits.status_of(node)}, not archived")
        return BACK_TO_OPEN

    full_ids = checks.node_ids(store, request.node_ids)
    outcome = edits.edit_nodes(
        store, full_ids, decide, verb="node.unarchive", template="{} brought back", by=by, now=now
    )
    decay.add_touches(store, full_ids, "node.unarchive", "{} touched", by=by, now=now)
    return outcome


def plan_delete(store: Store, request: DeleteNodes, *, now: float) -> tuple[list[Raw], int]:
    """Return what a delete would mark, and how many nodes it spares because they are protected.

    Named ids are always taken. A tag or an age (both must match if both are given) spares what decay protects.
    """
    if request.node_ids:
        if request.tag or request.older_than:
            raise ActionError("name ids, or choose by --tag and --older-than, not both")
        full_ids = set(checks.node_ids(store, request.node_ids))
        named = [node for node in newest_nodes(store.layout) if node["id"] in full_ids]
        return [node for node in named if edits.status_of(node) != "deleted"], 0
    if not request.tag and not request.older_than:
        raise ActionError("nothing is selected: name ids, --tag or --older-than")
    return _chosen(
        store,
        fields.label(request.tag, "tag"),
        now - times.parse_duration(request.older_than) if request.older_than else None,
    )


def _chosen(store: Store, tag: str, before: float | None) -> tuple[list[Raw], int]:
    chosen: list[Raw] = []
    spared = 0
    with closing(AgeIndex(store.layout)) as index:
        index.load()
    for node in newest_nodes(store.layout, tag):
        if edits.status_of(node) == "deleted" or (tag and tag not in (node.get("tags") or ())):
            continue
        if before is not None and index.touched(str(node["id"])) >= before:
            continue
        if index.protects(str(node["id"])):
            spared += 1
        else:
            chosen.append(node)
    return chosen, spared


def delete(store: Store, request: DeleteNodes, *, by: str, now: float) -> Done:
    """Set the status on all of them in one write; one that was deleted meanwhile stops all."""
    chosen, _ = plan_delete(store, request, now=now)
    if not chosen:
        raise ActionError("there is nothing to delete", missing=True)
    mark: Fields = {"metadata.status": "deleted", "metadata.deleted_at": times.iso(now), "metadata.deleted_by": by}

    def decide(node: Raw) -> Fields:
        if get_field(node, "metadata.status") == "deleted":
            raise ActionError(f"{edits.quoted(node)} was deleted meanwhile by {node.get('updated_by') or 'somebody'}")
        return mark

    full_ids = [str(node["id"]) for node in chosen]
    return edits.edit_nodes(store, full_ids, decide, verb="node.delete", template="{} deleted", by=by, now=now)


def check_tag(tag: str) -> str:
    """Return the tag. ActionError where it is not one of TAGS."""
    if tag not in TAGS:
        problem = f"tag {tag!r} is unknown: one of {', '.join(TAGS)}"
        raise ActionError(problem, candidates=refusal.nearest(tag, TAGS))
    return tag


def sources(store: Store, node_ids: str | Sequence[str] = (), wu_id: str = "") -> list[str]:
    """Return the ids of the nodes that a promote would copy: those named, or the summaries of a work unit."""
    if bool(node_ids) == bool(wu_id):
        raise ActionError("name nodes or a work unit, one of both")
    if node_ids:
        return checks.node_ids(store, node_ids)
    name = ids.check_wu(wu_id.upper())
    summaries = [
        str(node["id"])
        for node in newest_nodes(store.layout, f'"{name}"')
        if node.get("wu_id") == name
        and node.get("type") == "summary"
        and _is_open(node)
        and not nodes.get_field(node, "metadata.summarized_into")
    ]
    if not summaries:
        near = refusal.nearest(name, [unit_id for unit_id in checks.unit_names(store.layout) if unit_id != name])
        hint = f"make one with `summarize --wu {name}`"
        raise ActionError(f"{name} has no summary: {hint}", missing=True, candidates=near)
    return summaries


def promote(store: Store, request: PromoteNodes, *, by: str, now: float) -> Done:
    """Write the missing copies in one write of the memory; their ids follow from the original and the tag."""
    check_tag(request.tag)
    chosen = sources(store, request.node_ids, request.wu_id)
    copies = {node_id: f"mem-{short_hash(f'promote {node_id} {request.tag}')}" for node_id in chosen}
    actions: list[Action] = []

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        missing = [node_id for node_id in chosen if not _is_open(records.get(copies[node_id]))]
        if not missing:
            return [], b""
        pairs = [
            _copy(edits.node_of(records, node_id), records.get(copies[node_id]), copies[node_id], request.tag, by, now)
            for node_id in missing
        ]
        originals = [records[node_id] for node_id in missing]
        summary = f"{edits.named(originals)} kept for the project as {request.tag}"
        actions.append(
            edits.new_action("node.promote", [change for _, change in pairs], summary=summary, by=by, now=now)
        )
        return [record for record, _ in pairs], journal.begun_lines(actions[0])

    nodes.change(store.layout, [*chosen, *copies.values()], edit)
    target = copies[chosen[0]]
    if not actions:
        return Done(summary=f"kept as {request.tag} already", target=target)
    return Done(summary=actions[0].summary, target=target, action_id=actions[0].id)


def _is_open(node: Raw | None) -> bool:
    return node is not None and edits.status_of(node) == "open"


def _copy(node: Raw, existing: Raw | None, copy_id: str, tag: str, by: str, now: float) -> tuple[Raw, Change]:
    """Return the copy and the change that makes it; its `before` is the status deleted."""
    if edits.status_of(node) == "deleted":
        raise ActionError(f"{edits.quoted(node)} is deleted: undo that first")
    at = times.iso(now)
    tags = [
        tag,
        *[other_tag for other_tag in node.get("tags") or () if isinstance(other_tag, str) and other_tag != tag],
    ]
    meta = {"status": "deleted", "promoted_from": node["id"], "promoted_at": at, **_answered(node, tag)}
    record: Raw = existing or {
        "id": copy_id,
        "type": "note",
        "lifecycle": "project",
        "content": fields.prose(str(node.get("content", "")), "content"),
        "created_at": at,
        "created_by": by,
        "tags": tags,
        "metadata": meta,
        "schema": 1,
    }
    if node.get("wu_id"):
        record["wu_id"] = node["wu_id"]
    return record, edits.patch(record, {"metadata.status": None}, by=by, now=now)


def _answered(node: Raw, tag: str) -> dict[str, str]:
    """Return question and answer of a decision; a node promoted as a decision counts as answered."""
    known = {key: nodes.get_field(node, f"metadata.{key}") for key in ("question", "answer", "answered_at")}
    answers = {key: value for key, value in known.items() if isinstance(value, str) and value}
    return {"answer": edits.title_of(node), **answers} if tag == "decision" else answers
