"""The actions journal: what an operator did, with all that is needed to take it back after a restart.

An action that takes several writes is told before the first of them, as `begun` and with its changes, and its end after
the last. So whatever is killed when, what was begun is known here, and nothing is done that is not.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.listings import Deed
from lumen_tui.model.records import Action, Change, Stage
from lumen_tui.model.secrets.redaction import redact
from lumen_tui.storage import backwards, files, process, stages
from lumen_tui.storage.journal import Journal, encode
from lumen_tui.storage.layout import Layout

Part = TypeVar("Part", Action, Deed)  # as it stands, or as a list shows it
_PART_BYTES = files.MAX_LINE * 3 // 4  # of changes in one line
_decode = msgspec.json.Decoder(Action).decode


class Entry(NamedTuple):
    """What one word of an operator did: one action, or several of a group, the first one first."""

    actions: tuple[Action, ...]

    @property
    def first(self) -> Action:
        return self.actions[0]

    @property
    def is_open(self) -> bool:
        """Whether it was begun and its end was not told."""
        return any(action.stage == Stage.BEGUN for action in self.actions)


Mine = Callable[[Action], bool]


def action_lines(action: Action) -> bytes:
    """The action as journal lines: one, or several under the same id where its changes do not fit one.

    Its summary holds no secret, not even of a record that is kept as it was given.
    """
    action = msgspec.structs.replace(action, summary=redact(action.summary))
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


def begun_lines(action: Action) -> bytes:
    """The same for an action that takes further writes: whoever appends these tells its end as well."""
    return action_lines(msgspec.structs.replace(action, stage=Stage.BEGUN, process=stages.myself()))


def record(layout: Layout, *actions: Action) -> None:
    """Append these actions durably, together. StoreError; LineTooLong before anything is written."""
    files.append(layout.actions, b"".join([action_lines(action) for action in actions]))


class Begun:
    """`with Begun(layout) as begun`: an action that is told once in the block, before its first write, and its end
    with the block.

    An error from the block means that nothing of it stands: where it wrote more than once, it has put the first back.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._lines = b""

    def tell(self, action: Action) -> None:
        """Say what is being done. StoreError where that cannot be told: nothing may be done then."""
        if not self._lines:
            lines = begun_lines(action)
            files.append(self._layout.actions, lines)
            self._lines = lines

    def drop(self) -> None:
        """Say that nothing came of it."""
        tell_end(self._layout, self._lines, Stage.DROPPED)
        self._lines = b""

    def __enter__(self) -> Begun:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._lines and (kind is None or issubclass(kind, Exception)):
            tell_end(self._layout, self._lines, Stage.DROPPED if kind else Stage.DONE)


@contextmanager
def carrying_out(layout: Layout, action: Action) -> Iterator[None]:
    """Tell that an action begins, let the block write what it changes, and tell its end: see `Begun`."""
    with Begun(layout) as begun:
        begun.tell(action)
        yield


def tell_end(layout: Layout, lines: bytes, stage: str) -> None:
    """Say how the action that began with these lines ended. On a full disk it stays open, which the doctor mends."""
    with contextlib.suppress(files.StoreError):
        files.append(layout.actions, stages.end_of(lines, stage), durable=False)


def actions(layout: Layout) -> Iterator[Action]:
    """Every action, oldest first, its parts joined; those of which nothing stands are left out."""
    found: dict[str, Action] = {}
    for part in Journal(layout.actions).records(Action):
        there = found.get(part.id)
        if part.stage in (Stage.DONE, Stage.DROPPED):
            if there is not None:
                found[part.id] = msgspec.structs.replace(there, stage=part.stage)
        else:
            found[part.id] = part if there is None else _merged(part, there)
    return (one for one in found.values() if one.stage != Stage.DROPPED)


def _merged(later: Action, earlier: Action) -> Action:
    return msgspec.structs.replace(earlier, changes=earlier.changes + later.changes)


def joined(parts: Iterable[Part], merged: Callable[[Part, Part], Part]) -> Iterator[Part]:
    """Neighbours of one id as one: an action whose changes take several lines. What ended is told in its stage.

    `parts` come from the end of the journal, `merged` gets (later, earlier).
    """
    ended: dict[str, str] = {}
    held: Part | None = None
    for part in parts:
        if part.stage in (Stage.DONE, Stage.DROPPED):
            ended[part.id] = part.stage
            continue
        if held is not None and held.id == part.id:
            held = msgspec.structs.replace(merged(held, part), stage=held.stage)
            continue
        if held is not None:
            yield held
        held = msgspec.structs.replace(part, stage=ended.pop(part.id, part.stage))
    if held is not None:
        yield held


def newest_first(layout: Layout) -> Iterator[Action]:
    """Every action from the last one back, its parts joined; those of which nothing stands are left out."""
    return (one for one in joined(newest_parts(layout, _decode), _merged) if one.stage != Stage.DROPPED)


def newest_parts(layout: Layout, decode: Callable[[bytes], Part]) -> Iterator[Part]:
    """What `decode` makes of each line, the last one first; damaged lines are passed over."""
    try:
        fd = files.open_plain(layout.actions)
    except FileNotFoundError:
        return
    try:
        for _, line in backwards.lines(fd):
            try:
                part = decode(line)
            except UNDECODABLE:
                continue
            yield part
    finally:
        os.close(fd)


def _entries(found: Iterable[Action]) -> Iterator[Entry | Action]:
    """Groups as one entry, where their first action stands; a turning (an undo or a redo) as it is."""
    waiting: dict[str, list[Action]] = {}
    for action in found:
        if action.undoes or action.redoes:
            yield action
        elif action.group and action.group != action.id:
            waiting.setdefault(action.group, []).append(action)
        else:
            yield Entry((action, *reversed(waiting.pop(action.id, []))))


def _turns(action: Action) -> bool:
    """Whether an undo or a redo was carried through: one that was cut off is done by the next."""
    return action.stage != Stage.BEGUN


def standing(layout: Layout, mine: Mine) -> Iterator[Entry]:
    """What was done and not taken back since, of those whose first action is `mine`, the newest first."""
    undone: dict[str, bool] = {}  # by action: whether its newest turning was an undo
    for one in _entries(newest_first(layout)):
        if isinstance(one, Action):
            if _turns(one):
                undone.setdefault(one.undoes or one.redoes, bool(one.undoes))
        elif mine(one.first) and not undone.get(one.first.id):
            yield one


def undone(layout: Layout, mine: Mine) -> list[Entry]:
    """What was taken back and can be done again, the one taken back last first.

    A new action makes what was undone before it final, as in an editor.
    """
    turned: dict[str, bool] = {}  # by action, the one turned last first
    found: dict[str, Entry] = {}
    fresh = True  # whether no new action of mine came since
    for one in _entries(newest_first(layout)):
        if isinstance(one, Action):
            if _turns(one) and fresh and mine(one):
                turned.setdefault(one.undoes or one.redoes, bool(one.undoes))
        elif mine(one.first):
            fresh = False
            found[one.first.id] = one
            if all(name in found for name in turned):
                break
    return [found[name] for name, is_undone in turned.items() if is_undone and name in found]


def open_entries(layout: Layout) -> list[Entry]:
    """What was begun by a process that is gone, and has no end: it was killed, or the disk was full."""
    found = [one for one in _entries(newest_first(layout)) if isinstance(one, Entry) and one.is_open]
    return [one for one in found if not any(process.lives(action.process) for action in one.actions)]


def last_change(layout: Layout, kind: str, key: str) -> Action | None:
    """The newest action that changed this thing."""
    for action in newest_first(layout):
        if any(change.kind == kind and change.key == key for change in action.changes):
            return action
    return None
