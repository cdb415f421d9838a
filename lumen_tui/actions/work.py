"""Work units: made by hand, or by a verb that names one which does not exist yet."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lumen_tui.actions import acting, checks, edits, fields
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids, times
from lumen_tui.model.kinds import WORK_UNIT_TYPES
from lumen_tui.model.records import Action, Change
from lumen_tui.model.requests.work import NewWorkUnit
from lumen_tui.model.work import WorkUnit
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.work import open_sessions, work_units

TITLE = "Untitled"


def unit_side(layout: Layout, wu_id: str) -> Side | None:
    """Return a work unit as a side of a Change: the hash of its file, which reveals later edits. None for no file."""
    return _side(layout.work_unit(wu_id))


def retired_side(layout: Layout, wu_id: str) -> Side | None:
    """Return the same of the file in work/retired/."""
    return _side(_retired(layout, wu_id))


def _side(path: Path) -> Side | None:
    data = files.read(path)
    return None if data is None else {"sha256": hashlib.sha256(data).hexdigest()}


def _retired(layout: Layout, wu_id: str) -> Path:
    return layout.work / "retired" / f"{ids.check_wu(wu_id)}.md"


def bring_back(layout: Layout, wu_id: str) -> None:
    """Restore a retired work unit."""
    directories.move(_retired(layout, wu_id), layout.work_unit(wu_id))


def new(store: Store, request: NewWorkUnit, *, by: str, now: float) -> Done:
    """Write work/WU-NNN.md under the next free number, or under `id`. The same `key` makes one."""
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
