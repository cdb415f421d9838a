"""The actions journal: what an operator did, with all that is needed to take it back after a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

from lumen_tui.model.listings import Deed
from lumen_tui.model.records import Action, Change
from lumen_tui.store import files
from lumen_tui.store.journal import Journal, encode
from lumen_tui.store.layout import Layout

Part = TypeVar("Part", Action, Deed)  # as it stands, or as a list shows it
_PART_BYTES = files.MAX_LINE * 3 // 4  # of changes in one line


def action_lines(action: Action) -> bytes:
    """The action as journal lines: one, or several under the same id where its changes do not fit one."""
    parts: list[list[Change]] = [[]]
    room = _PART_BYTES
    for change in action.changes:
        size = len(msgspec.json.encode(change))
        if size > room and parts[-1]:
            parts.append([])
            room = _PART_BYTES
        parts[-1].append(change)
        room -= size
    return b"".join([encode(msgspec.structs.replace(action, changes=tuple(part))) for part in parts])


def record(layout: Layout, *actions: Action) -> None:
    """Append these actions durably, together. StoreError; LineTooLong before anything is written."""
    files.append(layout.actions, b"".join([action_lines(action) for action in actions]))


def actions(layout: Layout) -> Iterator[Action]:
    """Every action, oldest first, its parts joined. Damaged lines are passed over."""

    def merged(first: Action, second: Action) -> Action:
        return msgspec.structs.replace(first, changes=first.changes + second.changes)

    return joined(Journal(layout.actions).records(Action), merged)


def joined(parts: Iterable[Part], merged: Callable[[Part, Part], Part]) -> Iterator[Part]:
    """Neighbours of one id as one: an action whose changes take several lines."""
    held: Part | None = None
    for part in parts:
        if held is not None and held.id == part.id:
            held = merged(held, part)
            continue
        if held is not None:
            yield held
        held = part
    if held is not None:
        yield held


def stacks(layout: Layout, by: str) -> tuple[list[Action], list[Action]]:
    """What `by` can undo and what `by` can redo now; the last of each comes first in turn.

    A new action makes what was undone before it final, as in an editor.
    """
    done: dict[str, Action] = {}
    undone: dict[str, Action] = {}
    for action in actions(layout):
        if action.by != by:
            continue
        if action.undoes:
            if taken := done.pop(action.undoes, None):
                undone[taken.id] = taken
        elif action.redoes:
            if taken := undone.pop(action.redoes, None):
                done[taken.id] = taken
        elif action.changes:
            done[action.id] = action
            undone.clear()
    return list(done.values()), list(undone.values())


def last_change(layout: Layout, kind: str, key: str) -> Action | None:
    """The newest action that changed this thing."""
    newest = None
    for action in actions(layout):
        if any(change.kind == kind and change.key == key for change in action.changes):
            newest = action
    return newest
