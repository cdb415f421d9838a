"""Memory nodes: made, archived, brought back."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.actions import checks, edits, fields, places, relations, touches
from lumen_tui.actions.edits import Fields
from lumen_tui.actions.fields import archived as archived
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.storage import raw_json
from lumen_tui.storage.store import Store
from lumen_tui.store.memory.edges import Edge
from lumen_tui.store.memory.nodes import Raw

BACK_TO_OPEN: Fields = {
    "metadata.status": None,
    "metadata.archived_at": None,
    "metadata.archived_by": None,
    "metadata.archive_reason": None,
}


def create(
    store: Store, *, by: str, now: float, content: str, type: str = "discovery", tags: Sequence[str] = (),
    priority: str = "", wu_id: str = "", discovered_from: str = "", session_id: str = "", key: str = "",
) -> Done:  # fmt: skip
    """Append a node; with `discovered_from` the link to the node on the way from which it was noticed.

    The same `key` gives the same node, however often it is asked for. A work unit that is not there is made.
    """
    source = checks.node_ids(store, discovered_from)[0] if discovered_from else ""
    record = fields.node(
        content, by=by, now=now, type=type, tags=tags, priority=priority, session_id=session_id,
        wu_id=places.work_to_be(store.root, wu_id) if wu_id else "",
    )  # fmt: skip
    aside = places.make_sure(store.root, record.get("wu_id", ""), by=by, now=now)
    if key:
        record = fields.keyed(record, key)
    said = f"{record['type']} noted: {edits.quoted(record)}"
    changes = [edits.made_node(record)]
    linked = source and not (key and _linked(store, record["id"], source))
    if linked:
        changes.append(relations.change_of(Edge(record["id"], source, "discovered_from"), by=by, now=now))
    action = edits.new_action("node.create", changes, summary=said, by=by, now=now)
    made = edits.add_node(store, record, action, once=bool(key))
    if linked:
        relations.put_edge(store, changes[-1])
    if not made:
        return Done(summary=f"{record['type']} was there already under this key", target=record["id"])
    twin = raw_json.same_text(store.layout.memory, record["id"])
    aside = "; ".join(part for part in (aside, fields.said_before(twin) if twin else "") if part)
    return Done(summary=f"{record['type']} noted", target=record["id"], action_id=action.id, aside=aside)


def _linked(store: Store, start: str, finish: str) -> bool:
    """Whether the link stands: a call that was cut off may have left the node alone."""
    words = (f'"{start}"'.encode(), f'"{finish}"'.encode())
    return any(all(word in line for word in words) for line in store.relationships.lines())


def archive(store: Store, *, by: str, now: float, node_ids: str | Sequence[str], reason: str) -> Done:
    """Put nodes of any type away; `unarchive` brings them back."""
    why = checks.reason(reason)

    def decide(node: Raw) -> Fields:
        edits.must_be_open(node)
        return archived(why, by=by, now=now)

    found = checks.node_ids(store, node_ids)
    return edits.edit_nodes(store, found, decide, verb="node.archive", said="{} archived", by=by, now=now, reason=why)


def unarchive(store: Store, *, by: str, now: float, node_ids: str | Sequence[str]) -> Done:
    """Bring archived nodes back; their age counts from now, or decay would put them away again at once."""

    def decide(node: Raw) -> Fields:
        if edits.status_of(node) != "archived":
            raise ActionError(f"{edits.quoted(node)} is {edits.status_of(node)}, not archived")
        return BACK_TO_OPEN

    found = checks.node_ids(store, node_ids)
    done = edits.edit_nodes(store, found, decide, verb="node.unarchive", said="{} brought back", by=by, now=now)
    touches.add(store, found, "node.unarchive", "{} touched", by=by, now=now)
    return done
