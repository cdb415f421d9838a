"""The actions journal: what operators did, with all that is needed to undo it after a restart.

An action of several writes is recorded as `begun`, with its changes, before the first of them, and its end after the
last. So whatever is killed at whatever point, everything that was begun is known here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import msgspec

from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.records import Action, AuditEntry, Change, Stage
from lumen_tui.model.secrets.redaction import redact
from lumen_tui.model.text import one_line
from lumen_tui.storage import backwards, files, process, raw_json
from lumen_tui.storage.journal import Journal, encode
from lumen_tui.storage.layout import Layout
from lumen_tui.store.audit.action_line import ActionLine, decode_action_line

Part = TypeVar("Part", Action, AuditEntry)  # whole, or as a list shows it
_PART_BYTES = files.MAX_LINE * 3 // 4  # of changes in one line
_decoder = lazy_decoder(Action)
IsMine = Callable[[Action], bool]
_LOOKED_AT = 2000  # actions searched for reasons
_LONGEST = 300  # characters of a text that are kept


class JournalEntry(NamedTuple):
    """What one command of an operator did: one action, or several of a group, the first one first."""

    actions: tuple[Action, ...]

    @property
    def first(self) -> Action:
        return self.actions[0]

    @property
    def is_open(self) -> bool:
        """Whether it was begun and has no recorded end."""
        return any(action.stage == Stage.BEGUN for action in self.actions)


def action_lines(action: Action) -> bytes:
    """Return the action as journal lines: one, or several under the same id where its changes do not fit one.

    Its summary never holds a secret, even where the record itself is stored unredacted.
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
    """Return the lines of an action that takes further writes; whoever appends them records its end as well."""
    return action_lines(msgspec.structs.replace(action, stage=Stage.BEGUN, process=raw_json.myself()))


def record(layout: Layout, *actions: Action) -> None:
    """Append these actions durably, together. StoreError; LineTooLong before anything is written."""
    files.append(layout.actions, b"".join([action_lines(action) for action in actions]))


class Transaction:
    """A context in which one action is announced before its first write; its end is recorded with the block.

    An error from the block means that nothing of it remains: a block that writes more than once puts the first back, or
    says that it is `partly_done`. The end is synced where nothing else tells that it was done: of an action without
    changes, of an undo and of a redo.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._lines = b""
        self._partly = self._tells = False

    def announce(self, action: Action) -> None:
        """Record what is about to be done. StoreError where that cannot be written: nothing may be done then."""
        if not self._lines:
            lines = begun_lines(action)
            files.append(self._layout.actions, lines)
            self._lines, self._tells = lines, bool(action.changes and not (action.undoes or action.redoes))

    def drop(self) -> None:
        """Record that the action did not happen."""
        record_end(self._layout, self._lines, Stage.DROPPED)
        self._lines = b""

    def partly_done(self) -> None:
        """From here on an error leaves the action open, as a kill does: undo and the doctor take back what is there."""
        self._partly = True

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._lines and (kind is None or (issubclass(kind, Exception) and not self._partly)):
            record_end(self._layout, self._lines, Stage.DROPPED if kind else Stage.DONE, durable=not self._tells)


@contextmanager
def carrying_out(layout: Layout, action: Action) -> Iterator[None]:
    """Record that an action begins, let the block write its changes, and record its end: see `Transaction`."""
    with Transaction(layout) as transaction:
        transaction.announce(action)
        yield


def record_end(layout: Layout, lines: bytes, stage: str, *, durable: bool = False) -> None:
    """Record how the action that began with these lines ended. On a full disk it stays open for the doctor."""
    with contextlib.suppress(files.StoreError):
        files.append(layout.actions, raw_json.end_line(lines, stage), durable=durable)


def actions(layout: Layout) -> Iterator[Action]:
    """Yield every action, oldest first, its parts joined; dropped ones are left out."""
    by_id: dict[str, Action] = {}
    for part in Journal(layout.actions).records(Action):
        earlier = by_id.get(part.id)
        if part.stage in (Stage.DONE, Stage.DROPPED):
            if earlier is not None:
                by_id[part.id] = msgspec.structs.replace(earlier, stage=part.stage)
        else:
            by_id[part.id] = part if earlier is None else _merged(part, earlier)
    return (action for action in by_id.values() if action.stage != Stage.DROPPED)


def _merged(later: Part, earlier: Part) -> Part:
    return msgspec.structs.replace(earlier, changes=earlier.changes + later.changes)


def joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Join neighbours of one id, actions whose changes take several lines; their stage says whether they ended.

    `parts` come from the end of the journal.
    """
    ended: dict[str, str] = {}
    pending: Part | None = None
    for part in parts:
        if part.stage in (Stage.DONE, Stage.DROPPED):
            ended[part.id] = part.stage
            continue
        if pending is not None and pending.id == part.id:
            pending = msgspec.structs.replace(_merged(pending, part), stage=pending.stage)
            continue
        if pending is not None:
            yield pending
        pending = msgspec.structs.replace(part, stage=ended.pop(part.id, part.stage))
    if pending is not None:
        yield pending


def newest_first(layout: Layout) -> Iterator[Action]:
    """Yield every action, newest first, its parts joined; dropped ones are left out."""
    return (action for action in joined(newest_parts(layout, _decoder.decode)) if action.stage != Stage.DROPPED)


def newest_parts(layout: Layout, decode: Callable[[bytes], Part]) -> Iterator[Part]:
    """Yield what `decode` makes of each line, the last one first; damaged lines are skipped."""
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


def _entries(newest_actions: Iterable[Action]) -> Iterator[JournalEntry | Action]:
    """Yield groups as one entry, at the place of their first action, and undos and redos as they are."""
    waiting: dict[str, list[Action]] = {}
    for action in newest_actions:
        if action.undoes or action.redoes:
            yield action
        elif action.group and action.group != action.id:
            waiting.setdefault(action.group, []).append(action)
        else:
            yield JournalEntry((action, *reversed(waiting.pop(action.id, []))))


def _is_complete(action: Action) -> bool:
    """Return whether an undo or a redo was completed: one that was cut off is finished by the next."""
    return action.stage != Stage.BEGUN


def in_effect(layout: Layout, mine: IsMine) -> Iterator[JournalEntry]:
    """Yield what was done and not undone since, where the first action is `mine`, the newest first."""
    undone: dict[str, bool] = {}  # by action: whether its newest undo or redo was an undo
    for entry in _entries(newest_first(layout)):
        if isinstance(entry, Action):
            if _is_complete(entry):
                undone.setdefault(entry.undoes or entry.redoes, bool(entry.undoes))
        elif mine(entry.first) and not undone.get(entry.first.id):
            yield entry


def undone(layout: Layout, mine: IsMine) -> list[JournalEntry]:
    """Return what was undone and can be redone, the last undone first.

    A new action makes what was undone before it final, as in an editor.
    """
    turned: dict[str, bool] = {}  # by action, the last undone or redone first
    entries: dict[str, JournalEntry] = {}
    fresh = True  # whether no new action of mine came since
    for entry in _entries(newest_first(layout)):
        if isinstance(entry, Action):
            if _is_complete(entry) and fresh and mine(entry):
                turned.setdefault(entry.undoes or entry.redoes, bool(entry.undoes))
        elif mine(entry.first):
            fresh = False
            entries[entry.first.id] = entry
            if all(name in entries for name in turned):
                break
    return [entries[name] for name, is_undone in turned.items() if is_undone and name in entries]


def open_entries(layout: Layout) -> list[JournalEntry]:
    """Return what a process that is gone began and did not end: it was killed, or the disk was full."""
    unfinished = [
        entry for entry in _entries(newest_first(layout)) if isinstance(entry, JournalEntry) and entry.is_open
    ]
    return [entry for entry in unfinished if not any(process.lives(action.process) for action in entry.actions)]


def marked(layout: Layout, *marks: bytes) -> Iterator[Action]:
    """Yield the parts of actions, and their ends, with one of these marks in their line, oldest first.

    What cannot be read is passed over.
    """
    try:
        for line in Journal(layout.actions).lines():
            if any(mark in line for mark in marks):
                with contextlib.suppress(*UNDECODABLE):
                    yield _decoder.decode(line)
    except (files.StoreError, OSError):
        return


def last_change(layout: Layout, kind: str, key: str) -> Action | None:
    """Return the newest action that changed this thing; None where there is none."""
    for action in newest_first(layout):
        if any(change.kind == kind and change.key == key for change in action.changes):
            return action
    return None


def recent(layout: Layout, limit: int) -> list[AuditEntry]:
    """Return the newest `limit` actions, the last one first. Damaged lines and dropped actions are skipped."""
    entries: list[AuditEntry] = []
    last_word: dict[str, bool] = {}  # by action: whether its newest undo or redo was an undo
    for entry in joined(newest_parts(layout, lambda line: _audit_entry(decode_action_line(line)))):
        if entry.stage == Stage.DROPPED:
            continue
        if (turned := entry.undoes or entry.redoes) and entry.stage != Stage.BEGUN:
            last_word.setdefault(turned, bool(entry.undoes))
        entries.append(msgspec.structs.replace(entry, undone=last_word.get(entry.group or entry.id, False)))
        if len(entries) >= limit:
            break
    return entries


def recent_reasons(layout: Layout, verb: str, limit: int) -> tuple[str, ...]:
    """Return the last reasons that were given with a verb, each once, the newest first."""
    reasons = dict.fromkeys(entry.reason for entry in recent(layout, _LOOKED_AT) if entry.verb == verb and entry.reason)
    return tuple(reasons)[:limit]


def _audit_entry(line: ActionLine) -> AuditEntry:
    names = ("id", "at", "by", "verb", "target", "summary", "reason", "undoes", "redoes", "client", "group", "final")
    texts = {name: one_line(getattr(line, name), _LONGEST) for name in names}
    return msgspec.convert({**texts, "stage": line.stage, "changes": len(line.changes)}, AuditEntry)
