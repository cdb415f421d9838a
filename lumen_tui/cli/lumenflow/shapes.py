"""The JSON of documented commands in LumenFlow's shapes: made from what our own command prints.

What it calls removed is archived here, so no bytes are freed; ids and records are ours.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from typing import Any

from lumen_tui.actions import edits, knowledge
from lumen_tui.actions.cleanup import lifecycle_of
from lumen_tui.cli.session import Session
from lumen_tui.model.kinds import priority_rank
from lumen_tui.model.patterns import lazy_re
from lumen_tui.store.memory import edges, nodes
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.memory.nodes import Raw

_NODE = lazy_re(r"mem-[a-z0-9]+")
Value = Any  # what our command printed
Shape = Callable[[Session, Namespace, Value], object]


def _ready(session: Session, options: Namespace, value: Value) -> object:
    wu_id = value["wu_id"]
    every = list(newest_nodes(session.layout, wu_id))
    chosen = [node for node in every if node.get("wu_id") == wu_id and _is_open(node)]
    waiting = _blocked(session)
    ready = [
        node
        for node in chosen
        if node["id"] not in waiting
        and lifecycle_of(node) != "ephemeral"
        and (not options.type or node.get("type") == options.type)
    ]
    ready.sort(key=lambda node: (priority_rank(_priority(node)), str(node.get("created_at")), str(node["id"])))
    return {"wuId": wu_id, "type": options.type or None, "count": len(ready), "nodes": ready}


def _is_open(node: Raw) -> bool:
    return edits.status_of(node) == "open"


def _priority(node: Raw) -> str:
    metadata = node.get("metadata")
    priority = metadata.get("priority") if isinstance(metadata, dict) else ""
    return priority if isinstance(priority, str) else ""


def _blocked(session: Session) -> set[str]:
    """Return the ids that an open node blocks."""
    blocking = [edge for edge in edges.in_force(session.layout) if edge.type == "blocks"]
    sources = nodes.find(session.layout.memory, {edge.start for edge in blocking})
    return {edge.finish for edge in blocking if edge.start in sources and _is_open(sources[edge.start][1])}


def _export(_: Session, options: Namespace, value: Value) -> object:
    filters = {"wuId": options.wu or None, "type": options.type or None, "lifecycle": options.lifecycle or None}
    return {"count": len(value), "filters": filters, "nodes": value}


def _context(session: Session, _: Namespace, value: Value) -> object:
    named = nodes.find(session.layout.memory, set(_NODE.findall(value["text"])))
    stats = {
        "totalNodes": len(named),
        "byType": dict(Counter(str(node.get("type")) for _, node in named.values())),
        "truncated": bool(value["cut"]),
        "size": len(value["text"].encode()),
    }
    return {"wuId": value["wu_id"], "contextBlock": value["text"], "stats": stats}


def _recover(_: Session, __: Namespace, value: Value) -> object:
    return {
        "wuId": value["wu_id"],
        "context": value["text"],
        "size": value["size"],
        "truncated": bool(value.get("cut")),
    }


def _profile(session: Session, _: Namespace, value: Value) -> object:
    every = [node for node in newest_nodes(session.layout) if _is_open(node) and lifecycle_of(node) == "project"]
    by_id = {str(node["id"]): node for node in every}
    tags = Counter(tag for node in every for tag in node.get("tags") or () if isinstance(tag, str))
    return {
        "success": True,
        "nodes": [{**by_id.get(record["id"], {}), **record} for record in value],
        "profileBlock": "\n\n".join(record["content"] for record in value),
        "stats": {"totalProjectNodes": len(every), "includedNodes": len(value), "byTag": dict(tags)},
    }


def _delete(_: Session, __: Namespace, value: Value) -> object:
    ids = _ids(value["nodes"])
    return {
        "success": True,
        "deletedCount": len(ids),
        "deletedIds": ids,
        "skippedIds": [],
        "dryRun": bool(value["dry_run"]),
        "errors": [f"{value['protected']} pinned or unread: kept"] if value.get("protected") else [],
    }


def _ids(records: Value) -> list[str]:
    return [str(record["id"]) if isinstance(record, dict) else str(record) for record in records]


def _cleanup(session: Session, _: Namespace, value: Value) -> object:
    rows = value["nodes"]
    removed = _ids(rows)
    gone = set(removed)
    total = [str(node["id"]) for node in newest_nodes(session.layout) if _is_open(node) or node["id"] in gone]
    reasons = Counter(str(row["reason"]).partition(" ")[0] for row in rows)
    return {
        "success": True,
        "removedIds": removed,
        "retainedIds": [name for name in total if name not in gone],
        "bytesFreed": 0,
        "compactionRatio": len(removed) / len(total) if total else 0,
        "dryRun": bool(value["dry_run"]),
        "breakdown": dict(reasons),
    }


def _signal_cleanup(session: Session, _: Namespace, value: Value) -> object:
    total = value["kept"] + value["removed"]
    return {
        "success": True,
        "removedCount": value["removed"],
        "retainedCount": value["kept"],
        "bytesFreed": 0,
        "compactionRatio": value["removed"] / total if total else 0,
        "dryRun": bool(value["dry_run"]),
        "breakdown": {
            "ttlExpired": value["removed_read"],
            "unreadTtlExpired": value["removed_unread"],
            "countLimitExceeded": value["removed_over"],
            "activeWuProtected": value["active"],
        },
    }


def _promote(session: Session, options: Namespace, value: Value) -> object:
    wanted = value["from"] if value["dry_run"] else [value["id"]]
    hits = nodes.find(session.layout.memory, wanted)
    records = [hits[name][1] for name in wanted if name in hits]
    head = {"success": True, "dryRun": bool(value["dry_run"])}
    return {**head, "promotedNodes": records} if options.wu else {**head, "promotedNode": records[0]}


def _summarize(session: Session, options: Namespace, value: Value) -> object:
    draft = value if value["dry_run"] else value["draft"]
    summary = {
        "id": draft["node_id"],
        "type": "summary",
        "lifecycle": "project",
        "content": draft["content"],
        "wu_id": options.wu,
        "metadata": {"source_nodes": draft["taken"], "source_count": len(draft["taken"])},
    }
    if not value["dry_run"]:
        summary = nodes.find(session.layout.memory, [value["id"]])[value["id"]][1]
    return {
        "success": True,
        "summary": summary,
        "markedForCleanup": draft["taken"],
        "dryRun": bool(value["dry_run"]),
        "compactionRatio": len(draft["taken"]),
    }


def _index(_: Session, __: Namespace, value: Value) -> object:
    states = Counter(record["state"] for record in value["documents"])
    names = [record["name"] for record in value["documents"]]
    return {
        "success": True,
        "nodesCreated": states["new"],
        "nodesUpdated": states["changed"],
        "nodesSkipped": states["unchanged"],
        "sourcesScanned": names,
        "sourcesMissing": [name for name in knowledge.DOCUMENTS if name not in names],
        "dryRun": bool(value["dry_run"]),
    }


def _triage(session: Session, options: Namespace, value: Value) -> object:
    if options.archive:
        return {
            "success": True,
            "nodeId": value.get("id") or nodes.resolve(session.layout.memory, options.archive, "mem"),
        }
    if not options.promote:
        return value
    node_id = nodes.resolve(session.layout.memory, options.promote, "mem")
    node = nodes.find(session.layout.memory, [node_id])[node_id][1]
    metadata = node.get("metadata") or {}
    unit = value.get("wu_id") or metadata.get("promoted_to") or value.get("target", "")
    title = options.title or value.get("title") or str(node.get("content", "")).partition("\n")[0]
    notes = f"Promoted from discovery {node_id}"
    priority = _priority(node) or "P2"
    spec = {"id": unit, "title": title, "lane": options.lane, "priority": priority, "notes": notes}
    return {"success": True, "wuSpec": spec}


SHAPES: dict[str, Shape] = {
    "mem:ready": _ready,
    "mem:export": _export,
    "mem:context": _context,
    "mem:recover": _recover,
    "mem:profile": _profile,
    "mem:delete": _delete,
    "mem:cleanup": _cleanup,
    "mem:promote": _promote,
    "mem:summarize": _summarize,
    "mem:index": _index,
    "mem:triage": _triage,
    "signal:cleanup": _signal_cleanup,
}
