"""Relations between work units or nodes: what blocks what, what was found in what."""

from __future__ import annotations

from collections.abc import Iterator

from lumen_tui.actions import checks, edits, refusal
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import times
from lumen_tui.model.records import RELATION_TYPES, Change
from lumen_tui.model.requests.work import AddRelation, RemoveRelation
from lumen_tui.queries.trail import BLOCKS, Trail
from lumen_tui.queries.trail_file import EDGES, NODES
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import edges, nodes
from lumen_tui.store.memory.edges import Edge

EDGE_KIND = "edge"  # of a change


def add(store: Store, request: AddRelation, *, by: str, now: float) -> Done:
    """Look for the edge and for a circle first, then append one line."""
    start, finish = _ends(store, request.from_id, request.to_id, request.type)
    with Trail(store.layout, (NODES, EDGES)) as trail:
        if start in trail.sources_of(finish, request.type):
            raise ActionError(f"{start} {request.type} {finish} already", missing=True)
        if request.type == BLOCKS and finish in _all_blockers(trail, start):
            raise ActionError(f"{finish} blocks {start} already, directly or through others: that would be a circle")
    return _append(store, start, finish, request.type, removed=False, by=by, now=now)


def remove(store: Store, request: RemoveRelation, *, by: str, now: float) -> Done:
    """Append one line, with author and time of the edge for undo."""
    start, finish = _ends(store, request.from_id, request.to_id, request.type)
    with Trail(store.layout, (NODES, EDGES)) as trail:
        if start not in trail.sources_of(finish, request.type):
            raise ActionError(f"there is no relation {start} {request.type} {finish}", missing=True)
    return _append(store, start, finish, request.type, removed=True, by=by, now=now)


def _append(store: Store, start: str, finish: str, type: str, *, removed: bool, by: str, now: float) -> Done:
    summary = f"{_label(store, start)} {type.replace('_', ' ')} {_label(store, finish)}"
    summary += ": taken away" if removed else ""
    verb = "relation.remove" if removed else "relation.add"
    edge = Edge(start, finish, type)
    change = _removal_of(store, edge, by=by, now=now) if removed else edge_change(edge, by=by, now=now)
    action = edits.new_action(verb, [change], summary=summary, by=by, now=now, target=finish)
    with journal.carrying_out(store.layout, action):
        put_edge(store, change)
    return Done(summary=summary, target=finish, action_id=action.id)


def edge_change(edge: Edge, *, by: str, now: float) -> Change:
    """Return the change of adding an edge."""
    return Change(EDGE_KIND, " ".join(edge), None, {"at": times.iso(now), "by": by})


def _removal_of(store: Store, edge: Edge, *, by: str, now: float) -> Change:
    """Return the change of removing an edge: undo adds it again with its author and time."""
    at, drawn_by = edges.drawn(store.layout, edge)
    side = {"at": at, "by": drawn_by, "removed_at": times.iso(now), "removed_by": by}
    return Change(EDGE_KIND, " ".join(edge), side, None)


def edge_now(store: Store, change: Change) -> dict[str, object] | None:
    """For undo: the side of the change that is true now."""
    edge = Edge(*change.key.split(" ", 2))
    return (change.after or change.before) if edge in edges.in_force(store.layout) else None


def put_edge(store: Store, change: Change) -> None:
    """Add or remove the edge, as the change's `after` says."""
    side = change.after or change.before or {}
    removed = change.after is None
    when, who = ("removed_at", "removed_by") if removed and "removed_at" in side else ("at", "by")
    edge = Edge(*change.key.split(" ", 2))
    edges.draw(store.layout, edge, at=str(side.get(when, "")), by=str(side.get(who, "")), removed=removed)


def _label(store: Store, name: str) -> str:
    """Return the title of a node, or the id of a work unit."""
    if name.startswith("WU-"):
        return name
    matches = nodes.find(store.layout.memory, [name])
    return edits.quoted(matches[name][1]) if name in matches else name


def _ends(store: Store, from_id: str, to_id: str, type: str) -> tuple[str, str]:
    if type not in RELATION_TYPES:
        raise ActionError(
            f"relation {type!r} is unknown: one of {', '.join(RELATION_TYPES)}",
            candidates=refusal.nearest(type, RELATION_TYPES),
        )
    start, finish = _resolve(store, from_id), _resolve(store, to_id)
    if start == finish:
        raise ActionError(f"{start} cannot be related to itself")
    return start, finish


def _resolve(store: Store, text: str) -> str:
    """Return the id of a work unit or of a node."""
    if text.upper().startswith("WU-"):
        return checks.known_unit(store.layout, text)
    return checks.node_ids(store, text)[0]


def _all_blockers(trail: Trail, identifier: str) -> Iterator[str]:
    """Yield whatever blocks it, directly or through others."""
    known = set()
    waiting = [identifier]
    while waiting:
        for blocker in trail.sources_of(waiting.pop(), BLOCKS):
            if blocker not in known:
                known.add(blocker)
                waiting.append(blocker)
                yield blocker
