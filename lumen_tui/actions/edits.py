"""Undoable changes with both sides recorded: of memory nodes under the lock of their journal, and of journal lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.actions import acting
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids, times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import Action, Change
from lumen_tui.model.text import one_line
from lumen_tui.storage import rewriting
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import node_bulk, nodes
from lumen_tui.store.memory.nodes import Raw

Side = dict[str, Any]  # one side of a change: field -> value
Fields = dict[str, Any]  # dotted key -> value, None to take it out
Decide = Callable[[Raw], Fields]


def status_of(node: Raw) -> str:
    """Return `open`, or what became of the node."""
    value = nodes.get_field(node, "metadata.status")
    return value if isinstance(value, str) and value else "open"


def title_of(node: Raw) -> str:
    """Return the first line of the content."""
    return str(node.get("content", "")).partition("\n")[0]


def patch(node: Raw, fields: Fields, *, by: str, now: float) -> Change:
    """Set the fields and the editor; return the change."""
    before = {key: nodes.get_field(node, key) for key in fields}
    nodes.set_fields(node, {**fields, "updated_at": times.iso(now), "updated_by": by})
    return Change(kind="node", key=str(node["id"]), before=before, after=fields)


def made_node(record: Raw) -> Change:
    """Return the change that makes a node: its `before` is the status deleted."""
    return Change("node", str(record["id"]), before={"metadata.status": "deleted"}, after={"metadata.status": None})


def add_node(store: Store, record: Raw, action: Action, *, once: bool = False) -> bool:
    """Append a new node with its action. With `once`, do nothing and return False if its id exists."""
    is_new = True

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        nonlocal is_new
        existing = records.get(str(record["id"]))
        is_new = not once or existing is None or status_of(existing) == "deleted"
        return ([record], journal.begun_lines(action)) if is_new else ([], b"")

    nodes.change(store.layout, [str(record["id"])] if once else [], edit)
    return is_new


def is_made(store: Store, record: Raw) -> bool:
    """Return whether a node of this id exists: made under the same key, and not undone."""
    match = nodes.find(store.layout.memory, [str(record["id"])]).get(str(record["id"]))
    return match is not None and status_of(match[1]) != "deleted"


def new_action(
    verb: str,
    changes: Iterable[Change],
    *,
    summary: str,
    by: str,
    now: float,
    reason: str = "",
    target: str = "",
    final: str = "",
    apart: bool = False,
    again: str = "",
) -> Action:
    """Return the record of an action that is about to be carried out.

    `final` says why it cannot be undone and what to do instead. An action that is `apart` is undone by itself, the
    others together with everything the same verb does. `again` is the id under which the same action was prepared in an
    attempt that failed.
    """
    all_changes = tuple(changes)
    action_id = again or ids.new_id("act")
    return Action(
        id=action_id,
        at=times.iso(now),
        by=by,
        verb=verb,
        target=target or (all_changes[0].key if all_changes else ""),
        summary=summary,
        changes=all_changes,
        reason=reason,
        client=acting.caller().client,
        final=final,
        group="" if apart else acting.group_of(action_id),
    )


def edit_nodes(
    store: Store,
    node_ids: list[str],
    decide: Decide,
    *,
    verb: str,
    template: str,
    by: str,
    now: float,
    reason: str = "",
) -> Done:
    """Set on each node the fields that `decide` returns; an ActionError from it stops all of them.

    The summary is `template` with `{}` replaced by what was changed.
    """
    outcome = Done(summary="")

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        nonlocal outcome
        chosen = [node_of(records, node_id) for node_id in node_ids]
        changes = [patch(node, decide(node), by=by, now=now) for node in chosen]
        summary = template.replace("{}", named(chosen))
        action = new_action(verb, changes, summary=summary, by=by, now=now, reason=reason, again=outcome.action_id)
        outcome = Done(summary=summary, target=node_ids[0], action_id=action.id)
        return chosen, journal.begun_lines(action)

    node_bulk.change(store.layout, node_ids, edit)
    return outcome


def node_of(records: dict[str, Raw], node_id: str) -> Raw:
    """Return the node. ActionError where it is gone."""
    if node_id not in records:
        raise ActionError(f"there is no node {node_id!r}", missing=True)
    return records[node_id]


def named(chosen: list[Raw]) -> str:
    """Return what a summary calls these nodes: the title of one, the number of several."""
    if len(chosen) == 1:
        return quoted(chosen[0])
    return f"{len(chosen)} {'discoveries' if all(node.get('type') == 'discovery' for node in chosen) else 'nodes'}"


def quoted(node: Raw) -> str:
    """Return a node's title, short and in quotes."""
    return f"“{one_line(title_of(node), 60)}”"


def must_be_open(node: Raw) -> None:
    """Refuse a node that was judged already, naming the judgement."""
    state = status_of(node)
    if state == "open":
        return
    became = nodes.get_field(node, f"metadata.{state}_to") or ""
    who = node.get("updated_by") or "somebody"
    when = times.stamp_of(node.get("updated_at"))
    state_text = f"{state} {became}".strip()
    raise ActionError(f"{quoted(node)} is {state_text} already (by {who}, {when}): undo that first")


def must_be_discovery(node: Raw) -> None:
    """Refuse a node that is no open discovery, and an agent one that a person decides of."""
    if node.get("type") != "discovery":
        raise ActionError(f"{quoted(node)} is a {node.get('type')}, not a discovery: triage judges discoveries only")
    if acting.caller().bounded and "proposal" in (node.get("tags") or ()):
        raise ActionError(f"{quoted(node)} is a proposal: only a person judges it")
    must_be_open(node)


READ_KIND = "read"  # of a change: receipts of one reader
_EACH = 200  # lines in one change, which must fit into one line of the journal of actions
_decode = msgspec.json.Decoder(dict).decode


def changes_of(kind: str, lines: Sequence[Raw]) -> list[Change]:
    """Return the changes that append these lines, none for no lines."""
    parts = [lines[at : at + _EACH] for at in range(0, len(lines), _EACH)]
    return [Change(kind, _key(part), before={"lines": []}, after={"lines": list(part)}) for part in parts]


def _key(part: Sequence[Raw]) -> str:
    first = part[0]
    return " ".join(str(first.get(name)) for name in ("signal_id", "node_id", "reader", "by") if name in first)


def sides(path: Callable[[Store], Path]) -> tuple[Callable[[Store, Change], Raw], Callable[[Store, Change], None]]:
    """Return the two undo functions for lines of the journal at `path(store)`: read which are present, and set them."""

    def now(store: Store, change: Change) -> Raw:
        present = {_identity(line) for line in Journal(path(store)).records(dict)}
        return {"lines": [line for line in _lines_of(change) if _identity(line) in present]}

    def put(store: Store, change: Change) -> None:
        remaining = {_identity(line) for line in (change.after or {})["lines"]}
        leaving = {_identity(line) for line in _lines_of(change)} - remaining

        def without(lines: Iterator[bytes]) -> Iterator[bytes]:
            return (line for line in lines if _identity_of(line) not in leaving)

        if leaving:
            rewriting.lines(path(store), without)
        else:
            Journal(path(store)).append_all((change.after or {})["lines"])

    return now, put


def _lines_of(change: Change) -> list[Raw]:
    return list((change.after or {})["lines"] or (change.before or {})["lines"])


def _identity(line: Raw) -> tuple[object, ...]:
    """Return what identifies a line: the offset of its signal moves when signals are cleaned up."""
    return tuple(str(line.get(name)) for name in ("signal_id", "node_id", "reader", "by", "read_at", "at", "upto"))


def _identity_of(line: bytes) -> tuple[object, ...] | None:
    try:
        return _identity(_decode(line))
    except UNDECODABLE:
        return None
