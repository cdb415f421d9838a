"""Apply changes for undo and redo: bring each thing to the other side of a change, after checking all of them.

Nothing that somebody changed since is overwritten: the error says who did, and when, before anything is written.
"""

from __future__ import annotations

import msgspec

from lumen_tui.actions import blocks, edits, kinds
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import times
from lumen_tui.model.records import Action, Change
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
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
        notes.extend(_apply_others(store, others))
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
            _check_other(store, change, now)


def put_back(store: Store, changes: list[Change], *, by: str, now: float) -> None:
    """Apply changes of an action of which only a part took effect. What is as it should be stays."""
    node_changes = [change for change in changes if change.kind == "node"]
    _apply_others(store, [change for change in changes if change.kind != "node"])

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        return _apply_to_nodes(records, node_changes, by, now), b""

    if node_changes:
        node_bulk.change(store.layout, [change.key for change in node_changes], edit)


def _apply_others(store: Store, changes: list[Change]) -> list[str]:
    pending = [change for change in changes if kinds.KINDS[change.kind].now(store, change) != change.after]
    notes: list[str | None] = []
    together: set[str] = set()
    for change in pending:
        kind = kinds.KINDS[change.kind]
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


def _check_other(store: Store, change: Change, now: float) -> None:
    kind = kinds.KINDS[change.kind]
    current = kind.now(store, change)
    if current == change.after:
        return  # an earlier attempt was cut off behind it
    if current != change.before:
        raise _changed_since(store, change, now, *_last_hand(store, change))
    kind.may(store, change)


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
