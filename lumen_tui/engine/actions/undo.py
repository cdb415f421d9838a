"""Undo and redo: each side of a change is in actions.jsonl, so both survive a restart.

Nothing that somebody changed since is overwritten: the refusal says who did, and when.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from lumen_tui.engine.actions import acting, blocks, edits, kinds, roles
from lumen_tui.engine.outcome import ActionError, Done
from lumen_tui.engine.refusal import ambiguous
from lumen_tui.model import ids, times
from lumen_tui.model.records import Action, Change
from lumen_tui.model.text import one_line
from lumen_tui.store import locks, process
from lumen_tui.store.memory import nodebulk, nodes
from lumen_tui.store.memory.blocks import HAND
from lumen_tui.store.memory.blocks import read as read_block
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.people import history
from lumen_tui.store.people.history import Entry
from lumen_tui.store.store import Store


def undo(store: Store, *, by: str, now: float, action_id: str = "") -> Done:
    """Take back what the operator did last in this client, or the named action of theirs. Never more than that."""
    entry = _pick(store, history.standing(store.layout, _whose(by, action_id)), action_id, "undo", by)
    turned = [
        Change(kind=one.kind, key=one.key, before=one.after, after=one.before)
        for action in reversed(entry.actions) for one in reversed(action.changes)
    ]  # fmt: skip
    try:
        _must_be_possible(entry)
        return _apply(store, entry, turned, said="undone", by=by, now=now, undoes=entry.first.id)
    except ActionError as error:
        said = _way_on(store, str(error), entry, by)
        raise ActionError(said, candidates=error.candidates, missing=error.missing) from error


def _whose(by: str, action_id: str) -> history.Mine:
    """The operator's own in this client; by its id, one from anywhere."""
    return (lambda action: action.by == by) if action_id else acting.mine(by, acting.word().client)


def _must_be_possible(entry: Entry) -> None:
    if entry.is_open and any(process.lives(action.process) for action in entry.actions if action.process):
        raise ActionError("it is being done at this moment: try again")
    if final := next((action.final for action in entry.actions if action.final), ""):
        raise ActionError(final)
    if not any(action.changes for action in entry.actions):
        raise ActionError("it changed nothing that could be put back")


def _way_on(store: Store, why: str, entry: Entry, by: str) -> str:
    """A refusal with the action that it is about, and the one before it, which it need not hold up."""
    entries = history.standing(store.layout, acting.mine(by, acting.word().client))
    before = next((one.first for one in _behind(entries, entry.first.id)), None)
    rest = f"; `undo {before.id}`, or u in the journal, takes back the one before: {_named(before)}" if before else ""
    return f"{_named(entry.first)}: not undone, as {why}{rest}"


def _behind(entries: Iterator[Entry], action_id: str) -> Iterator[Entry]:
    for entry in entries:
        if entry.first.id == action_id:
            return entries
    return iter(())


def _named(action: Action) -> str:
    return one_line(action.summary or action.verb, 60)


def redo(store: Store, *, by: str, now: float, action_id: str = "") -> Done:
    """Do again what was undone last, unless something else was done since."""
    entry = _pick(store, iter(history.undone(store.layout, _whose(by, action_id))), action_id, "redo", by)
    changes = [change for action in entry.actions for change in action.changes]
    return _apply(store, entry, changes, said="done again", by=by, now=now, redoes=entry.first.id)


def _pick(store: Store, entries: Iterator[Entry], action_id: str, verb: str, by: str) -> Entry:
    if not action_id:
        entry = next(entries, None)
        if entry is None:
            raise ActionError(f"there is nothing of yours to {verb}{_elsewhere(store, verb, by)}", missing=True)
        return entry
    name = ids.check_file_name(action_id, "action id")
    known = list(entries)
    if not known:
        raise ActionError(f"there is nothing of yours to {verb}", missing=True)
    hits = [one for one in known if any(action.id == name for action in one.actions)] or [
        one for one in known if any(action.id.startswith((name, f"act-{name}")) for action in one.actions)
    ]
    if not hits:
        raise ActionError(f"there is no action {name!r} of yours to {verb}", missing=True)
    if len(hits) > 1:
        raise ambiguous(name, [one.first.id for one in hits])
    return hits[0]


def _elsewhere(store: Store, verb: str, by: str) -> str:
    """What the operator did last in another client, which is taken back by its id."""
    mine = _whose(by, "any")
    every = history.standing(store.layout, mine) if verb == "undo" else iter(history.undone(store.layout, mine))
    last = next((entry.first for entry in every), None)
    if last is None:
        return ""
    where = acting.words(last.client, acting.word().client)
    return f" here; what you did last was {where}: {_named(last)} (`{verb} {last.id}`)"


def _apply(
    store: Store, entry: Entry, changes: list[Change], *, said: str, by: str, now: float, undoes: str = "",
    redoes: str = "",
) -> Done:  # fmt: skip
    """Bring everything from each change's `before` to its `after`, after a look at all of them."""
    summary = f"{said}: {'; '.join(dict.fromkeys(action.summary for action in entry.actions if action.summary))}"
    verb = "undo" if undoes else "redo"
    record = edits.new_action(verb, changes, summary=summary, by=by, now=now, apart=True)
    record = msgspec.structs.replace(record, undoes=undoes, redoes=redoes)
    with locks.waiting_lock(store.layout.lock("roles")):
        notes = turn(store, changes, record, now=now)
    for change in changes:
        if change.kind == "role":
            roles.note(store, change.key, verb, summary, by=by, now=now)
    return Done(summary="; ".join([summary, *notes]), target=entry.first.target, action_id=record.id)


def turn(store: Store, changes: list[Change], record: Action, *, now: float) -> list[str]:
    """Carry out changes under the record that tells of them; what a person should know beside that, in words.

    All are looked at before the first is carried out. Where one fails all the same, those before it stand, and the next
    try goes on from there.
    """
    folded = _folded(changes)
    others = [change for change in folded if change.kind != "node"]
    node_changes = [change for change in folded if change.kind == "node"]

    def edit(found: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        for change in node_changes:
            _check_node(store, found.get(change.key), change, now)
        for change in others:
            _check_other(store, change, now)
        begun.tell(record)
        notes.extend(_put(store, others))
        return [_turned(found[one.key], one, record.by, now) for one in node_changes if one.key in found], b""

    notes: list[str] = []
    with history.Begun(store.layout) as begun:
        if node_changes:
            nodebulk.change(store.layout, [change.key for change in node_changes], edit)
        else:  # some of the others take long, and the memory is not theirs to hold meanwhile
            edit({})
    return list(dict.fromkeys(notes))


def put_back(store: Store, changes: list[Change], *, by: str, now: float) -> None:
    """Carry out changes of an action of which only a part stands. What is as it should be stays."""
    node_changes = [change for change in changes if change.kind == "node"]
    _put(store, [change for change in changes if change.kind != "node"])

    def edit(found: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        return [_turned(found[change.key], change, by, now) for change in node_changes if change.key in found], b""

    if node_changes:
        nodebulk.change(store.layout, [change.key for change in node_changes], edit)


def _put(store: Store, changes: list[Change]) -> list[str]:
    wanted = [change for change in changes if kinds.KINDS[change.kind][0](store, change) != change.after]
    return [said for change in wanted if (said := kinds.KINDS[change.kind][1](store, change))]


def _folded(changes: list[Change]) -> list[Change]:
    """Each thing once, from its first `before` to its last `after`."""
    found: dict[tuple[str, str], Change] = {}
    for change in changes:
        there = found.get((change.kind, change.key))
        found[change.kind, change.key] = change if there is None else _joined(there, change)
    return list(found.values())


def _joined(first: Change, then: Change) -> Change:
    before = first.before if first.before is None else {**(then.before or {}), **first.before}
    after = then.after if then.after is None else {**(first.after or {}), **then.after}
    return msgspec.structs.replace(first, before=before, after=after)


def _turned(node: Raw, change: Change, by: str, now: float) -> Raw:
    edits.patch(node, change.after or {}, by=by, now=now)
    return node


def _check_node(store: Store, node: Raw | None, change: Change, now: float) -> None:
    if node is None:
        if (change.after or {}).get("metadata.status") == "deleted":
            return  # it was cut off before it was made
        raise ActionError(f"{change.key} is no longer there")
    for side in (change.before, change.after):  # `after`: an earlier attempt was cut off behind it
        if all(nodes.get_field(node, key) == value for key, value in (side or {}).items()):
            return
    raise _changed_since(store, change, now, str(node.get("updated_by") or ""), str(node.get("updated_at") or ""))


def _check_other(store: Store, change: Change, now: float) -> None:
    if kinds.KINDS[change.kind][0](store, change) not in (change.before, change.after):
        raise _changed_since(store, change, now, *_last_hand(store, change))


def _last_hand(store: Store, change: Change) -> tuple[str, str]:
    """(who, when) wrote a block last: edits by hand are no actions."""
    if change.kind != blocks.KIND:
        return "", ""
    block = read_block(store.layout, change.key)
    return (block.by or HAND, block.at) if block.at or block.by_hand else ("", "")


def _changed_since(store: Store, change: Change, now: float, who: str = "", when: str = "") -> ActionError:
    last = history.last_change(store.layout, change.kind, change.key)
    if last is not None and not who:
        who, when = last.by, last.at
    at = times.epoch(when)
    age = f"{times.ago(now - at)}, {times.stamp(at)}" if when else "at an unknown time"
    return ActionError(f"{_called(store, change)} was changed since by {who or 'somebody'} ({age}): nothing was done")


def _called(store: Store, change: Change) -> str:
    """The title of a node; of anything else its own name."""
    found = nodes.find(store.layout.memory, [change.key]) if change.kind == "node" else {}
    return edits.quoted(found[change.key][1]) if change.key in found else change.key
