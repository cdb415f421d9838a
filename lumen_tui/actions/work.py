"""Work units: made, found again, retired; and the relations between them or between nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from lumen_tui.actions import acting, checks, edits, fields, refusal
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids, times
from lumen_tui.model.kinds import WORK_UNIT_TYPES
from lumen_tui.model.records import RELATION_TYPES, Action, Change
from lumen_tui.model.requests.work import AddRelation, NewWorkUnit, RemoveRelation
from lumen_tui.model.work import WorkUnit
from lumen_tui.queries.trail import BLOCKS, Trail
from lumen_tui.queries.trail_file import EDGES, NODES
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import edges, nodes
from lumen_tui.store.memory.edges import Edge
from lumen_tui.store.work import open_sessions, work_units

EDGE_KIND = "edge"  # of a change
TITLE = "Untitled"


def unit_side(layout: Layout, wu_id: str) -> Side | None:
    """Return a work unit as a side of a Change: the hash of its file, which reveals later edits. None for no file."""
    return file_side(layout.work_unit(wu_id))


def retired_side(layout: Layout, wu_id: str) -> Side | None:
    """Return the same of the file in work/retired/."""
    return file_side(_retired(layout, wu_id))


def file_side(path: Path) -> Side | None:
    """Return the hash of a file as undo compares it; None where there is no file."""
    data = files.read(path)
    return None if data is None else {"sha256": hashlib.sha256(data).hexdigest()}


def _retired(layout: Layout, wu_id: str) -> Path:
    return layout.work / "retired" / f"{ids.check_wu(wu_id)}.md"


def bring_back(layout: Layout, wu_id: str) -> None:
    """Restore a retired work unit."""
    directories.move(_retired(layout, wu_id), layout.work_unit(wu_id))


def new(store: Store, request: NewWorkUnit, *, by: str, now: float) -> Done:
    """Number and write the file under the lock of work units, where the action is announced."""
    if request.type not in WORK_UNIT_TYPES:
        raise ActionError(f"type {request.type!r} is unknown: one of {', '.join(WORK_UNIT_TYPES)}")
    draft = WorkUnit(
        id=ids.check_wu(request.id.upper()) if request.id else "",
        title=" ".join(fields.prose(request.title, "title").split())[:200],
        lane=checks.lane(store.layout, request.lane) if request.lane.strip() else "",
        type=request.type,
        priority=fields.priority(request.priority) or "P2",
        created_at=times.iso(now),
        created_by=by,
        body=fields.prose(request.body, "text") if request.body else "",
        key=fields.label(request.key, "key"),
    )
    actions: list[Action] = []

    def begin(units: list[WorkUnit]) -> None:
        summary = f"{units[0].id} made: {units[0].title}"
        actions.append(edits.new_action("wu.new", [made_change(units[0])], summary=summary, by=by, now=now))
        transaction.announce(actions[0])

    with journal.Transaction(store.layout) as transaction:
        try:
            unit = work_units.add_units(store.layout, [draft], begin)[0]
        except work_units.KeyTaken as taken:
            return Done(summary=f"{taken.wu_id} was there already under this key", target=taken.wu_id)
        except FileExistsError as error:
            raise ActionError(f"{error}: leave the id out for the next free number") from error
    return Done(summary=actions[0].summary, target=unit.id, action_id=actions[0].id)


def made_change(unit: WorkUnit) -> Change:
    """Return the change of making a unit, before it is written."""
    digest = hashlib.sha256(work_units.render_unit(unit).encode()).hexdigest()
    return Change(kind="work", key=unit.id, before=None, after={"sha256": digest})


def must_be_unused(store: Store, wu_id: str) -> None:
    """Refuse to remove a unit on which a session is open."""
    for session in open_sessions.live(store.root):
        if session.active_wu == wu_id:
            raise ActionError(f"session {session.session_id} of {session.agent} is open on {wu_id}: end that first")


def may_be_new(root: files.StrPath, name: str) -> str:
    """Return the id. ActionError where it is a likely misspelling of an existing unit."""
    near = tuple(known for known in checks.unit_names(Layout(Path(root))) if is_slip(name, known))
    if near:
        hint = f"if it is another one, `wu new TITLE --id {name}` makes it"
        raise ActionError(f"there is no work unit {name}; {hint}", candidates=near[:3], missing=True)
    return name


def is_slip(name: str, known: str) -> bool:
    """Return whether two ids differ only by leading zeros or by two swapped neighbouring digits.

    Other digits mean another unit: WU-100 and WU-101 are worked on side by side.
    """
    first, second = name.partition("-")[2], known.partition("-")[2]
    if not second.isdigit() or int(first) == int(second):
        return second.isdigit()
    differ = [at for at, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]]
    if len(first) != len(second) or len(differ) != 2 or differ[1] != differ[0] + 1:
        return False
    low, high = differ
    return (first[low], first[high]) == (second[high], second[low])


def make_missing(root: files.StrPath, name: str, *, by: str, now: float, client: str = "") -> str:
    """Make the work unit; return what to say of it, or nothing if it was known after all.

    A unit that has a stamp or was retired is known: mentioning it does not bring it back. Making it is an action of its
    own, so that undo first takes back the verb that mentioned it, and then the unit.
    """
    store = Store(Path(root))
    retired = store.layout.work / "retired" / f"{name}.md"
    if retired.exists() or work_units.stamp_path(store.layout, name).exists():
        return ""
    try:
        with acting.acting_for(by, client or acting.caller().client, now):
            new(store, NewWorkUnit(title=TITLE, id=name), by=by, now=now)
    except ActionError:
        if store.layout.work_unit(name).exists():  # somebody else made it at this moment
            return ""
        raise
    return f"work unit {name} was not there: it is made; say in work/{name}.md what it is about"


def add_relation(store: Store, request: AddRelation, *, by: str, now: float) -> Done:
    """Look for the edge and for a circle first, then append one line."""
    start, finish = _ends(store, request.from_id, request.to_id, request.type)
    with Trail(store.layout, (NODES, EDGES)) as trail:
        if start in trail.sources_of(finish, request.type):
            raise ActionError(f"{start} {request.type} {finish} already", missing=True)
        if request.type == BLOCKS and finish in _all_blockers(trail, start):
            raise ActionError(f"{finish} blocks {start} already, directly or through others: that would be a circle")
    return _append(store, start, finish, request.type, removed=False, by=by, now=now)


def remove_relation(store: Store, request: RemoveRelation, *, by: str, now: float) -> Done:
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
