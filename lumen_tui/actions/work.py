"""Work units: made, split, found again, retired."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from lumen_tui.actions import acting, agents, checks, edits, relations
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import fields, ids, times
from lumen_tui.model.digests import sha256
from lumen_tui.model.kinds import WORK_UNIT_TYPES
from lumen_tui.model.records import Action, Change
from lumen_tui.model.requests.work import NewWorkUnit, SplitWorkUnit, UnitPart
from lumen_tui.model.text import plain
from lumen_tui.model.work import Tracked, WorkUnit
from lumen_tui.queries.trail import BLOCKS
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory.edges import Edge
from lumen_tui.store.work import open_sessions, work_units

TITLE = "Untitled"
_PARENT = "parent_child"  # a relation
_FEWEST_PARTS, _MOST_PARTS = 2, 50
_MOST_CONDITIONS, _LONGEST_CONDITION = 30, 1000  # of acceptance; characters of one


def unit_side(layout: Layout, wu_id: str) -> Side | None:
    """Return a work unit as a side of a Change: the hash of its file, which reveals later edits. None for no file."""
    return file_side(layout.work_unit(wu_id))


def retired_side(layout: Layout, wu_id: str) -> Side | None:
    """Return the same of the file in work/retired/."""
    return file_side(_retired(layout, wu_id))


def file_side(path: Path) -> Side | None:
    """Return the hash of a file as undo compares it; None where there is no file."""
    data = files.read(path)
    return None if data is None else {"sha256": sha256(data)}


def _retired(layout: Layout, wu_id: str) -> Path:
    return layout.work / "retired" / f"{ids.check_wu(wu_id)}.md"


def bring_back(layout: Layout, wu_id: str) -> None:
    """Restore a retired work unit."""
    directories.move(_retired(layout, wu_id), layout.work_unit(wu_id))


def new(store: Store, request: NewWorkUnit, *, by: str, now: float) -> Done:
    """Number and write the file, then draw an edge from each unit that it waits for."""
    before = [checks.known_unit(store.layout, text or "?") for text in dict.fromkeys(request.depends_on)]
    draft = WorkUnit(
        id=ids.check_wu(request.id.upper()) if request.id else "",
        title=_title(request.title),
        lane=checks.lane(store.layout, request.lane) if request.lane.strip() else "",
        type=_type(request.type),
        priority=fields.priority(request.priority) or "P2",
        acceptance=_acceptance(request.acceptance),
        created_at=times.iso(now),
        created_by=by,
        body=fields.prose(request.body, "text") if request.body else "",
        key=fields.label(request.key, "key"),
    )

    def begin(units: list[WorkUnit]) -> Action:
        unit = units[0]
        changes = [relations.edge_change(Edge(name, unit.id, BLOCKS), by=by, now=now) for name in before]
        summary = f"{unit.id} made: {unit.title}"
        return edits.new_action("wu.new", [made_change(unit), *changes], summary=summary, by=by, now=now)

    return _make(store, [draft], begin)


def split(store: Store, request: SplitWorkUnit, *, by: str, now: float) -> Done:
    """Write a unit for each part, in the lane of the whole, which then waits for all of them."""
    whole_id = checks.known_unit(store.layout, request.wu_id or "?")
    parts = msgspec.convert(list(request.parts), list[UnitPart])
    if not _FEWEST_PARTS <= len(parts) <= _MOST_PARTS:
        raise ActionError(f"{len(parts)} parts will not do: split a work unit into {_FEWEST_PARTS} to {_MOST_PARTS}")
    key = fields.label(request.key, "key")

    def begin(units: list[WorkUnit]) -> Action:
        drawn = [relations.edge_change(edge, by=by, now=now) for edge in _ties(whole_id, units, request.in_order)]
        summary = f"{whole_id} split into {', '.join(unit.id for unit in units)}"
        changes = [*map(made_change, units), *drawn]
        return edits.new_action("wu.split", changes, summary=summary, by=by, now=now, target=whole_id)

    def drafts() -> list[WorkUnit]:
        whole = _to_split(store, whole_id)
        return [
            _part(store, whole, part, key=key and f"{key}:{number}", by=by, now=now)
            for number, part in enumerate(parts)
        ]

    return _make(store, drafts, begin)


def _to_split(store: Store, wu_id: str) -> Tracked:
    """Return the unit. ActionError where somebody works on it or it is over."""
    whole = work_units.read_tracked(store.layout, wu_id)
    if whole is None:
        raise ActionError(f"there is no work unit {wu_id}", missing=True)
    if whole.status == "done":
        raise ActionError(f"{wu_id} is done (by {whole.done_by or 'somebody'}): make new work units instead")
    if whole.status == "in_progress":
        who = whole.claimed_by or "somebody"
        raise ActionError(f"{wu_id} is in progress, held by {who}: `wu release {wu_id}` first, then split it")
    return whole


def _part(store: Store, whole: WorkUnit, part: UnitPart, *, key: str, by: str, now: float) -> WorkUnit:
    title = _title(part.title)
    return WorkUnit(
        id="",
        title=title,
        lane=checks.lane(store.layout, part.lane) if part.lane.strip() else whole.lane,
        type=whole.type,
        priority=whole.priority,
        acceptance=_acceptance(part.acceptance),
        created_at=times.iso(now),
        created_by=by,
        body=fields.prose(part.body, "text") if part.body else f"# {title}\n\nA part of {whole.id}: {whole.title}",
        key=key,
    )


def _ties(whole_id: str, parts: list[WorkUnit], in_order: bool) -> Iterator[Edge]:
    """Yield the edges of a split: each part below the whole and before it, and in order also before the next part."""
    for number, part in enumerate(parts):
        yield Edge(whole_id, part.id, _PARENT)
        yield Edge(part.id, whole_id, BLOCKS)
        if in_order and number:
            yield Edge(parts[number - 1].id, part.id, BLOCKS)


def _make(
    store: Store,
    drafts: list[WorkUnit] | Callable[[], list[WorkUnit]],
    begin: Callable[[list[WorkUnit]], Action],
) -> Done:
    """Number and write units under their lock, where the action is announced, and then draw its edges.

    A kill between the two leaves the action open: undo and the doctor take back what is there.
    """
    with journal.Transaction(store.layout) as transaction:
        try:
            with locks.waiting_lock(store.layout.lock("work")):
                planned = drafts() if callable(drafts) else drafts
                units = work_units.numbered(store.layout, planned)
                agents.must_have_room(store, len(units))
                action = begin(units)
                transaction.announce(action)
                work_units.write_units(store.layout, units)
        except work_units.KeyTaken as taken:
            return Done(summary=f"{taken.wu_id} was there already under this key", target=taken.wu_id)
        except FileExistsError as error:
            raise ActionError(f"{error}: leave the id out for the next free number") from error
        if drawn := [change for change in action.changes if change.kind == relations.EDGE_KIND]:
            transaction.partly_done()  # the edges have a journal and a lock of their own
            for change in drawn:
                relations.put_edge(store, change)
    return Done(summary=action.summary, target=units[0].id, action_id=action.id)


def _title(text: str) -> str:
    return " ".join(plain(fields.prose(text, "title")).split())[:200]


def _type(text: str) -> str:
    if text not in WORK_UNIT_TYPES:
        raise ActionError(f"type {text!r} is unknown: one of {', '.join(WORK_UNIT_TYPES)}")
    return text


def _acceptance(texts: Sequence[str]) -> tuple[str, ...]:
    """Return each condition on one line. ActionError where there are too many."""
    if len(texts) > _MOST_CONDITIONS:
        raise ActionError(f"{len(texts)} conditions of acceptance are too many: {_MOST_CONDITIONS} at most")
    return tuple(" ".join(plain(fields.prose(text, "acceptance")).split())[:_LONGEST_CONDITION] for text in texts)


def made_change(unit: WorkUnit) -> Change:
    """Return the change of making a unit, before it is written."""
    digest = sha256(work_units.render_unit(unit).encode())
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
