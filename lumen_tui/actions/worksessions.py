"""What actions change in the files of sessions, so that undo can put it back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import ids
from lumen_tui.model.records import Change
from lumen_tui.model.session import WorkSession
from lumen_tui.storage import directories, files
from lumen_tui.storage.store import Store
from lumen_tui.store.work import sessions as stored

KIND, CURRENT_KIND = "session", "current session"  # of changes
_LARGEST = 20_000  # bytes of a side that is kept for undo: both must fit into one line
Side = dict[str, Any] | None


def started(store: Store, session: WorkSession) -> list[Change]:
    """The changes that begin a session: its own file, and the copy that names the current one."""
    before, side = stored.current(store.layout), _plainly(session)
    if len(msgspec.json.encode(side)) > _LARGEST:
        del side["dirty_at_start"]  # the rest has room, and redo begins with a clean tree
    return [
        Change(KIND, session.session_id, None, side),
        Change(CURRENT_KIND, "current.json", before, {"session_id": session.session_id}),
    ]


def changes(store: Store, session_id: str, edit: Callable[[WorkSession], WorkSession]) -> list[Change]:
    """What an edit would change in a session; nothing where there is none, or where it is too much to be kept."""
    try:
        session = stored.read(store.layout, session_id) if session_id else None
    except (ids.BadId, files.StoreError, OSError):
        return []
    if session is None:
        return []
    before, after = _plainly(session), _plainly(edit(session))
    names = [name for name in after if after[name] != before[name]]
    sides = {name: before[name] for name in names}, {name: after[name] for name in names}
    if max(len(msgspec.json.encode(side)) for side in sides) > _LARGEST:
        return []
    return [Change(KIND, session_id, *sides)]


def _plainly(session: WorkSession) -> dict[str, Any]:
    """As it comes back from the journal."""
    table: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(session))
    return table


def put_copies(store: Store, wanted: list[Change]) -> None:
    """Carry these out as far as possible: what stands in a session is a copy of what stands elsewhere."""
    for change in wanted:
        with contextlib.suppress(files.StoreError, ids.BadId, OSError, ActionError):
            put_session(store, change)


def session_now(store: Store, change: Change) -> Side:
    """For undo: those fields of a session that the change is about; None where there is none."""
    session = stored.read(store.layout, change.key)
    table = _plainly(session) if session else {}
    return {name: table.get(name) for name in change.before or change.after or {}} if session else None


def put_session(store: Store, change: Change) -> None:
    """For undo: bring a session to the change's `after`; one that was not there goes, and comes again."""
    if change.after is None:
        directories.remove(stored.path(store.layout, change.key))
    elif change.before is None:
        stored.write(store.layout, msgspec.convert(change.after, WorkSession))
    else:
        fields = change.after
        if stored.set_fields(store.layout, change.key, fields) is None:
            raise ActionError(f"session {change.key} is no longer there")


def current_now(store: Store, _: Change) -> Side:
    """For undo: which session is the current one."""
    return stored.current(store.layout)


def put_current(store: Store, change: Change) -> None:
    """For undo: name another session as the current one, or none."""
    stored.put_current(store.layout, change.after)
