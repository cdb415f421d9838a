"""Undo and redo: both sides of each change are in actions.jsonl, so both survive a restart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec

from lumen_tui.actions import acting, edits, roles, turning
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.model import ids
from lumen_tui.model.records import Action, Change
from lumen_tui.model.requests.engine import Redo, Undo
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, locks, process
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.audit.journal import JournalEntry

_LOOKED_AT = 20  # entries before a refused one, for one that can be undone


def undo(store: Store, request: Undo, *, by: str, now: float) -> Done:
    """Undo what the operator did last in this client, or the named action of theirs, and nothing more."""
    entry = _pick(
        store, journal.in_effect(store.layout, _undoable(by, request.action_id)), request.action_id, "undo", by
    )
    try:
        _must_be_possible(entry)
        return _apply(store, entry, _reversed(entry), outcome="undone", by=by, now=now, undoes=entry.first.id)
    except ActionError as error:
        problem = f"{_named(entry.first)}: not undone, as {error}{_alternative(store, entry, by, now)}"
        raise ActionError(problem, candidates=error.candidates, missing=error.missing) from error


def _reversed(entry: JournalEntry) -> list[Change]:
    return [
        Change(kind=change.kind, key=change.key, before=change.after, after=change.before)
        for action in reversed(entry.actions)
        for change in reversed(action.changes)
    ]


def _undoable(by: str, action_id: str) -> journal.IsMine:
    """Return the test for undoable actions: by this client, or with an id, by any client and the engine's learning."""
    return (
        (lambda action: acting.may_undo_by_id(action.by, action.client, by))
        if action_id
        else acting.undo_filter(by, acting.caller().client)
    )


def _must_be_possible(entry: JournalEntry) -> None:
    if entry.is_open and any(process.lives(action.process) for action in entry.actions if action.process):
        raise ActionError("it is being done at this moment: try again")
    if final := next((action.final for action in entry.actions if action.final), ""):
        raise ActionError(final)
    if not any(action.changes for action in entry.actions):
        raise ActionError("it changed nothing that could be put back")


def _alternative(store: Store, entry: JournalEntry, by: str, now: float) -> str:
    """Suggest what can be undone instead of a refused action."""
    before = _entries_after(
        journal.in_effect(store.layout, acting.undo_filter(by, acting.caller().client)), entry.first.id
    )
    looked_at = list(itertools.islice(before, _LOOKED_AT))
    other = next((earlier.first for earlier in looked_at if _is_possible(store, earlier, now)), None)
    if other is not None:
        return f"; `undo {other.id}`, or u in the journal, takes back one before it: {_named(other)}"
    none = "nothing" if len(looked_at) < _LOOKED_AT else f"none of the {_LOOKED_AT}"
    return f"; {none} before it can be undone either" if looked_at else ""


def newest_possible(store: Store, *, by: str, client: str, now: float) -> str:
    """Return the id of the newest entry that undo would take back for this operator and client; or nothing."""
    entries = itertools.islice(journal.in_effect(store.layout, acting.undo_filter(by, client)), _LOOKED_AT + 1)
    return next((entry.first.id for entry in entries if _is_possible(store, entry, now)), "")


def _is_possible(store: Store, entry: JournalEntry, now: float) -> bool:
    try:
        _must_be_possible(entry)
        turning.must_be_possible(store, _reversed(entry), now=now)
    except (ActionError, files.StoreError, OSError, ValueError):  # of what cannot be read, undo says so itself
        return False
    return True


def _entries_after(entries: Iterator[JournalEntry], action_id: str) -> Iterator[JournalEntry]:
    for entry in entries:
        if entry.first.id == action_id:
            return entries
    return iter(())


def _named(action: Action) -> str:
    return one_line(action.summary or action.verb, 60)


def redo(store: Store, request: Redo, *, by: str, now: float) -> Done:
    """Redo what was undone last, unless something else was done since."""
    entry = _pick(
        store, iter(journal.undone(store.layout, _undoable(by, request.action_id))), request.action_id, "redo", by
    )
    changes = [change for action in entry.actions for change in action.changes]
    return _apply(store, entry, changes, outcome="done again", by=by, now=now, redoes=entry.first.id)


def _pick(store: Store, entries: Iterator[JournalEntry], action_id: str, verb: str, by: str) -> JournalEntry:
    if not action_id:
        entry = next(entries, None)
        if entry is None:
            raise ActionError(f"there is nothing of yours to {verb}{_elsewhere(store, verb, by)}", missing=True)
        return entry
    name = ids.check_file_name(action_id, "action id")
    known = list(entries)
    if not known:
        raise ActionError(f"there is nothing of yours to {verb}", missing=True)
    hits = [candidate for candidate in known if any(action.id == name for action in candidate.actions)] or [
        candidate
        for candidate in known
        if any(action.id.startswith((name, f"act-{name}")) for action in candidate.actions)
    ]
    if not hits:
        raise ActionError(f"there is no action {name!r} of yours to {verb}", missing=True)
    if len(hits) > 1:
        raise ambiguous(name, [candidate.first.id for candidate in hits])
    return hits[0]


def _elsewhere(store: Store, verb: str, by: str) -> str:
    """Say what the operator did last in another client, which can be undone by its id."""

    def mine(action: Action) -> bool:
        return action.by == by

    every = journal.in_effect(store.layout, mine) if verb == "undo" else iter(journal.undone(store.layout, mine))
    last = next((entry.first for entry in every), None)
    if last is None:
        return ""
    where = acting.origin_text(last.client, acting.caller().client)
    return f" here; what you did last was {where}: {_named(last)} (`{verb} {last.id}`)"


def _apply(
    store: Store,
    entry: JournalEntry,
    changes: list[Change],
    *,
    outcome: str,
    by: str,
    now: float,
    undoes: str = "",
    redoes: str = "",
) -> Done:
    """Bring everything from each change's `before` to its `after`, after checking all of them."""
    summary = f"{outcome}: {'; '.join(dict.fromkeys(action.summary for action in entry.actions if action.summary))}"
    verb = "undo" if undoes else "redo"
    record = edits.new_action(verb, changes, summary=summary, by=by, now=now, apart=True)
    record = msgspec.structs.replace(record, undoes=undoes, redoes=redoes)
    with locks.waiting_lock(store.layout.lock("roles")):
        notes = turning.apply_changes(store, changes, record, now=now)
    for change in changes:
        if change.kind == "role":
            roles.note(store, change.key, verb, summary, by=by, now=now)
    return Done(summary="; ".join([summary, *notes]), target=entry.first.target, action_id=record.id)
