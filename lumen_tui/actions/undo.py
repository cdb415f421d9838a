"""Undo and redo: both sides of each change are in actions.jsonl, so both survive a restart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec

from lumen_tui.actions import acting, blocks, edits, kinds, roles
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.model import ids, times
from lumen_tui.model.records import Action, Change
from lumen_tui.model.requests.engine import Redo, Undo
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, locks, process
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.audit.journal import JournalEntry
from lumen_tui.store.memory import node_bulk, nodes
from lumen_tui.store.memory.blocks import HAND
from lumen_tui.store.memory.blocks import read as read_block
from lumen_tui.store.memory.nodes import Raw


def apply_changes(store: Store, changes: list[Change], record: Action, *, now: float) -> list[str]:
    """Apply changes under the record that announces them; return what a person should know besides, in words.

    All are checked before the first is applied. If one fails even so, those before it stay applied, and the next
    attempt continues from there.
    """
    folded = _merged(changes)
    others = [change for change in folded if change.kind != "node"]
    node_changes = [change for change in folded if change.kind == "node"]

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        _check(store, folded, records, now)
        transaction.announce(record)
        notes.extend(_apply_beside_nodes(store, others))
        return _apply_to_nodes(records, node_changes, record.by, now), b""

    notes: list[str] = []
    with journal.Transaction(store.layout) as transaction:
        if node_changes:
            node_bulk.change(store.layout, [change.key for change in node_changes], edit)
        else:  # some of the others take long, and the memory is not theirs to hold meanwhile
            edit({})
    return list(dict.fromkeys(notes))


def must_be_possible(store: Store, changes: list[Change], *, now: float) -> None:
    """Check as `apply_changes` does before it begins, and write nothing. ActionError where it would refuse."""
    folded = _merged(changes)
    records = nodes.find(store.layout.memory, [change.key for change in folded if change.kind == "node"])
    _check(store, folded, {name: record for name, (_, record) in records.items()}, now)


def _check(store: Store, changes: list[Change], records: dict[str, Raw], now: float) -> None:
    for change in changes:
        if change.kind == "node":
            _check_node(store, records.get(change.key), change, now)
        else:
            _check_beside_nodes(store, change, now)


def put_back(store: Store, changes: list[Change], *, by: str, now: float) -> None:
    """Apply changes of an action of which only a part took effect. What is as it should be stays."""
    node_changes = [change for change in changes if change.kind == "node"]
    _apply_beside_nodes(store, [change for change in changes if change.kind != "node"])

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        return _apply_to_nodes(records, node_changes, by, now), b""

    if node_changes:
        node_bulk.change(store.layout, [change.key for change in node_changes], edit)


def _apply_beside_nodes(store: Store, changes: list[Change]) -> list[str]:
    pending = [change for change in changes if kinds.kind_of(change.kind).now(store, change) != change.after]
    notes: list[str | None] = []
    together: set[str] = set()
    for change in pending:
        kind = kinds.kind_of(change.kind)
        if kind.put_all is None:
            notes.append(kind.put(store, change))
        elif change.kind not in together:
            together.add(change.kind)
            notes.append(kind.put_all(store, [other for other in pending if other.kind == change.kind]))
    return [note for note in notes if note]


def _merged(changes: list[Change]) -> list[Change]:
    """Return one change for each thing, from its first `before` to its last `after`."""
    folded: dict[tuple[str, str], Change] = {}
    for change in changes:
        earlier = folded.get((change.kind, change.key))
        folded[change.kind, change.key] = change if earlier is None else _joined(earlier, change)
    return list(folded.values())


def _joined(first: Change, then: Change) -> Change:
    before = first.before if first.before is None else {**(then.before or {}), **first.before}
    after = then.after if then.after is None else {**(first.after or {}), **then.after}
    return msgspec.structs.replace(first, before=before, after=after)


def _apply_to_nodes(records: dict[str, Raw], changes: list[Change], by: str, now: float) -> list[Raw]:
    """Return the nodes that exist, each brought to the `after` of its change."""
    present = [change for change in changes if change.key in records]
    for change in present:
        edits.patch(records[change.key], change.after or {}, by=by, now=now)
    return [records[change.key] for change in present]


def _check_node(store: Store, node: Raw | None, change: Change, now: float) -> None:
    if node is None:
        if (change.after or {}).get("metadata.status") == "deleted":
            return  # it was cut off before it was made
        raise ActionError(f"{change.key} is no longer there")
    for side in (change.before, change.after):  # `after`: an earlier attempt was cut off behind it
        if all(nodes.get_field(node, key) == value for key, value in (side or {}).items()):
            return
    raise _changed_since(store, change, now, str(node.get("updated_by") or ""), str(node.get("updated_at") or ""))


def _check_beside_nodes(store: Store, change: Change, now: float) -> None:
    kind = kinds.kind_of(change.kind)
    current = kind.now(store, change)
    if current == change.after:
        return  # an earlier attempt was cut off behind it
    if current != change.before and not (kind.parts and _is_half_way(current, change)):
        raise _changed_since(store, change, now, *_last_hand(store, change))
    kind.may(store, change)


def _is_half_way(current: edits.Side | None, change: Change) -> bool:
    """Whether each field is as it was or as it is to be: what a kill between them leaves."""
    before, after = change.before or {}, change.after or {}
    return all(value in (before.get(name), after.get(name)) for name, value in (current or {}).items())


def _last_hand(store: Store, change: Change) -> tuple[str, str]:
    """Return (who, when) wrote a block last: edits by hand are no actions."""
    if change.kind != blocks.KIND:
        return "", ""
    block = read_block(store.layout, change.key)
    return (block.by or HAND, block.at) if block.at or block.by_hand else ("", "")


def _changed_since(store: Store, change: Change, now: float, who: str = "", when: str = "") -> ActionError:
    last = journal.last_change(store.layout, change.kind, change.key)
    if last is not None and not who:
        who, when = last.by, last.at
    at = times.epoch(when)
    age = f"{times.ago(now - at)}, {times.stamp(at)}" if when else "at an unknown time"
    return ActionError(f"{_label(store, change)} was changed since by {who or 'somebody'} ({age}): nothing was done")


def _label(store: Store, change: Change) -> str:
    """Return the title of a node; of anything else its own name."""
    matches = nodes.find(store.layout.memory, [change.key]) if change.kind == "node" else {}
    return edits.quoted(matches[change.key][1]) if change.key in matches else change.key


_LOOKED_AT = 20  # entries before a refused one, for one that can be undone


def undo(store: Store, request: Undo, *, by: str, now: float) -> Done:
    """Check every change of the entry, then turn all of them back under one record."""
    entry = _pick(
        store, journal.in_effect(store.layout, _undoable(by, request.action_id)), request.action_id, "undo", by
    )
    try:
        _must_be_possible(entry)
        return _apply(store, entry, _reversed(entry), outcome="undone", by=by, now=now, undoes=entry.first.id)
    except ActionError as error:
        raise ActionError(
            f"{_named(entry.first)}: not undone, as {error}",
            candidates=error.candidates,
            missing=error.missing,
            alternative=_alternative(store, entry, by, now),
        ) from error


def _reversed(entry: JournalEntry) -> list[Change]:
    return [
        Change(kind=change.kind, key=change.key, before=change.after, after=change.before)
        for action in reversed(entry.actions)
        for change in reversed(action.changes)
    ]


def _undoable(by: str, action_id: str) -> journal.IsMine:
    """Return the test for undoable actions: of this client; with an id, of the operator anywhere, or of learning."""
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
        return f"; `undo {other.id}`, or u in the journal, undoes an earlier one: {_named(other)}"
    none = "nothing" if len(looked_at) < _LOOKED_AT else f"none of the {_LOOKED_AT}"
    return f"; {none} before it can be undone either" if looked_at else ""


def newest_possible(store: Store, *, by: str, client: str, now: float) -> str:
    """Return the id of the newest entry that undo would take back for this operator and client; or nothing."""
    entries = itertools.islice(journal.in_effect(store.layout, acting.undo_filter(by, client)), _LOOKED_AT + 1)
    return next((entry.first.id for entry in entries if _is_possible(store, entry, now)), "")


def _is_possible(store: Store, entry: JournalEntry, now: float) -> bool:
    try:
        _must_be_possible(entry)
        must_be_possible(store, _reversed(entry), now=now)
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
    """Carry out every change of the entry again under one record."""
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
        notes = apply_changes(store, changes, record, now=now)
    for change in changes:
        if change.kind == "role":
            roles.note(store, change.key, verb, summary, by=by, now=now)
    return Done(summary="; ".join([summary, *notes]), target=entry.first.target, action_id=record.id)
