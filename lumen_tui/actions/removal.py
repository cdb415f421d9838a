"""Deleting: nodes are marked as deleted and leave every list; the records stay, and undo brings them back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from lumen_tui.actions import checks, edits, fields
from lumen_tui.actions.edits import Fields
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import times
from lumen_tui.storage.store import Store
from lumen_tui.store.memory.age_index import AgeIndex
from lumen_tui.store.memory.node_scan import newest_nodes
from lumen_tui.store.memory.nodes import Raw, get_field


def plan(
    store: Store, *, now: float, node_ids: str | Sequence[str] = (), tag: str = "", older_than: str = ""
) -> tuple[list[Raw], int]:
    """What a delete would take, and how many it leaves because they are protected.

    Ids are taken as named. A tag or an age (both must fit where both are given) leaves alone what decay protects.
    """
    if node_ids:
        if tag or older_than:
            raise ActionError("name ids, or choose by --tag and --older-than, not both")
        wanted = set(checks.node_ids(store, node_ids))
        named = [node for node in newest_nodes(store.layout) if node["id"] in wanted]
        return [node for node in named if edits.status_of(node) != "deleted"], 0
    if not tag and not older_than:
        raise ActionError("nothing is selected: name ids, --tag or --older-than")
    return _chosen(store, fields.label(tag, "tag"), now - times.parse_duration(older_than) if older_than else None)


def _chosen(store: Store, tag: str, before: float | None) -> tuple[list[Raw], int]:
    chosen, spared = [], 0
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


def delete(
    store: Store, *, by: str, now: float, node_ids: str | Sequence[str] = (), tag: str = "", older_than: str = ""
) -> Done:
    """Mark nodes as deleted."""
    chosen, _ = plan(store, now=now, node_ids=node_ids, tag=tag, older_than=older_than)
    if not chosen:
        raise ActionError("there is nothing to delete", missing=True)
    mark: Fields = {"metadata.status": "deleted", "metadata.deleted_at": times.iso(now), "metadata.deleted_by": by}

    def decide(node: Raw) -> Fields:
        if get_field(node, "metadata.status") == "deleted":
            raise ActionError(f"{edits.quoted(node)} was deleted meanwhile by {node.get('updated_by') or 'somebody'}")
        return mark

    found = [str(node["id"]) for node in chosen]
    return edits.edit_nodes(store, found, decide, verb="node.delete", said="{} deleted", by=by, now=now)
