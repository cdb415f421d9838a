"""Undo and redo: each side of a change is in actions.jsonl, so both survive a restart.

Nothing that somebody changed since is overwritten: the refusal says who did, and when.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lumen_tui.engine.actions import (
    agentfile,
    approvals,
    archive,
    blocks,
    budget,
    edits,
    evolution,
    facts,
    merging,
    relay,
    roles,
    settings,
    tasks,
    uncancel,
    work,
)
from lumen_tui.engine.outcome import ActionError, Done
from lumen_tui.engine.refusal import ambiguous
from lumen_tui.model import ids, times
from lumen_tui.model.records import Action, Change
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.store import files, locks
from lumen_tui.store.memory import nodebulk, nodes
from lumen_tui.store.memory.blocks import HAND
from lumen_tui.store.memory.blocks import read as read_block
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.people import history
from lumen_tui.store.settings import rolefiles
from lumen_tui.store.store import Store
from lumen_tui.store.tasks import taskfiles
from lumen_tui.store.units.work import retire_unit

Side = dict[str, Any] | None


def undo(store: Store, *, by: str, now: float, action_id: str = "") -> Done:
    """Take back the operator's last action, or the named one of theirs."""
    stack = history.stacks(store.layout, by)[0]
    action = _pick(stack, action_id, "undo")
    turned = [Change(kind=c.kind, key=c.key, before=c.after, after=c.before) for c in reversed(action.changes)]
    try:
        return _apply(store, action, turned, said=f"undone: {action.summary}", undoes=action.id, by=by, now=now)
    except ActionError as error:
        said = _way_on(str(error), action, stack)
        raise ActionError(said, candidates=error.candidates, missing=error.missing) from error


def _way_on(why: str, action: Action, stack: list[Action]) -> str:
    """A refusal with the action that it is about, and the one before it, which it need not hold up."""
    at = stack.index(action)
    before = stack[at - 1] if at else None
    rest = f"; `undo {before.id}`, or u in the journal, takes back the one before: {_named(before)}" if before else ""
    return f"{_named(action)}: not undone, as {why}{rest}"


def _named(action: Action) -> str:
    return one_line(action.summary or action.verb, 60)


def redo(store: Store, *, by: str, now: float, action_id: str = "") -> Done:
    """Do again what was undone last, unless something else was done since."""
    action = _pick(history.stacks(store.layout, by)[1], action_id, "redo")
    changes = list(action.changes)
    return _apply(store, action, changes, said=f"done again: {action.summary}", redoes=action.id, by=by, now=now)


def _pick(stack: list[Action], action_id: str, verb: str) -> Action:
    if not stack:
        raise ActionError(f"there is nothing of yours to {verb}", missing=True)
    if not action_id:
        return stack[-1]
    name = ids.check_file_name(action_id, "action id")
    found = [one for one in stack if one.id == name] or [
        one for one in stack if one.id.startswith((name, f"act-{name}"))
    ]
    if not found:
        raise ActionError(f"there is no action {name!r} of yours to {verb}", missing=True)
    if len(found) > 1:
        raise ambiguous(name, [one.id for one in found])
    return found[0]


def _apply(
    store: Store, action: Action, changes: list[Change], *, said: str, by: str, now: float, undoes: str = "",
    redoes: str = "",
) -> Done:  # fmt: skip
    """Bring everything from each change's `before` to its `after`, after a look at all of them."""
    record = msgspec.structs.replace(
        edits.new_action("undo" if undoes else "redo", changes, summary=said, by=by, now=now),
        undoes=undoes,
        redoes=redoes,
    )
    lines = history.action_lines(record)
    others = [change for change in changes if change.kind != "node"]
    node_changes = [change for change in changes if change.kind == "node"]

    def edit(found: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        for change in node_changes:
            _check_node(store, found.get(change.key), change, now)
        for change in others:
            _check_other(store, change, now)
        for change in others:
            if KINDS[change.kind][0](store, change) != change.after:
                KINDS[change.kind][1](store, change)
        return [_turned(found[change.key], change, by, now) for change in node_changes], lines

    with locks.waiting_lock(store.layout.lock("roles")):
        if node_changes:
            nodebulk.change(store.layout, [change.key for change in node_changes], edit)
        else:  # some of the others take long, and the memory is not theirs to hold meanwhile
            files.append(store.layout.actions, edit({})[1])
    for change in others:
        if change.kind == "role":
            roles.note(store, change.key, "undo" if undoes else "redo", said, by=by, now=now)
    return Done(summary=said, target=action.target, action_id=record.id)


def _turned(node: Raw, change: Change, by: str, now: float) -> Raw:
    edits.patch(node, change.after or {}, by=by, now=now)
    return node


def _check_node(store: Store, node: Raw | None, change: Change, now: float) -> None:
    if node is None:
        raise ActionError(f"{change.key} is no longer there")
    for side in (change.before, change.after):  # `after`: an earlier attempt was cut off behind it
        if all(nodes.get_field(node, key) == value for key, value in (side or {}).items()):
            return
    raise _changed_since(store, change, now, str(node.get("updated_by") or ""), str(node.get("updated_at") or ""))


def _check_other(store: Store, change: Change, now: float) -> None:
    if KINDS[change.kind][0](store, change) not in (change.before, change.after):
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


def _work_now(store: Store, change: Change) -> Side:
    return work.unit_side(store.layout, change.key)


def _put_work(store: Store, change: Change) -> None:
    if change.after is None:
        retire_unit(store.layout, change.key)
    elif work.retired_side(store.layout, change.key) == change.after:
        work.bring_back(store.layout, change.key)
    else:
        raise ActionError(f"work/retired/{change.key}.md is gone or was changed: nothing was done")


def _role_now(store: Store, change: Change) -> Side:
    return dict(rolefiles.texts(store.layout, change.key))


def _put_role(store: Store, change: Change) -> None:
    rolefiles.put(store.layout, change.key, change.after or {"hired": None, "retired": None})


def _spec(store: Store, change: Change) -> Spec:
    spec = taskfiles.read_spec(store.layout, change.key)
    if spec is None:
        raise ActionError(f"task {change.key} is no longer there")
    return spec


def _task_now(store: Store, change: Change) -> Side:
    return tasks.some_fields(_spec(store, change), change.before or ())


def _put_task(store: Store, change: Change) -> None:
    spec = _spec(store, change)
    tasks.put(store, tasks.with_fields(spec, change.after or {}), spec)


def _noted(_: Store, change: Change) -> Side:
    """What stands in the journal of actions alone: the record of the undo is the undo."""
    return change.before


def _put_nothing(_: Store, __: Change) -> None:
    return None


KINDS: dict[str, tuple[Callable[[Store, Change], Side], Callable[[Store, Change], None]]] = {
    "work": (_work_now, _put_work),
    "role": (_role_now, _put_role),
    "task": (_task_now, _put_task),
    "attention": (_noted, _put_nothing),
    uncancel.KIND: (uncancel.cancelled_now, uncancel.put),
    "setting": (settings.setting_now, settings.put_setting),
    "approval": (approvals.approval_now, approvals.put_approval),
    "allow": (approvals.rule_now, approvals.put_rule),
    "grant": (budget.grant_now, budget.put_grant),
    agentfile.KIND: (agentfile.passages_now, agentfile.put_passages),
    blocks.KIND: (blocks.block_now, blocks.put_block),
    merging.KIND: (merging.edge_now, merging.put_edge),
    relay.KIND: (relay.relay_now, relay.put_relay),
    archive.KIND: (archive.passage_now, archive.put_passage),
    facts.KIND: (facts.confirmation_now, facts.put_confirmation),
    evolution.KIND: (evolution.observation_now, evolution.put_observation),
    evolution.FILES_KIND: (evolution.files_now, evolution.put_files),
    evolution.CONSTITUTION_KIND: (evolution.constitution_now, evolution.put_constitution),
}
