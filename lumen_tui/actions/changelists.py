"""Change lists of tasks that worked apart: accepted into the operator's files where they still fit, or dropped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.actions import checks, edits, refusal
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids
from lumen_tui.model.changelist import MARK, ChangeList, Conflict, Decision, Decisions, FileChange, FileSide, merge
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.records import Change
from lumen_tui.model.requests.changes import AcceptChanges, DropChanges, WriteChange
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, locks
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.tasks import change_records, task_files
from lumen_tui.tools.base import plural
from lumen_tui.tools.isolation import placing, records
from lumen_tui.tools.isolation.placing import Unplaceable

KIND = "changed-file"  # of a change
_HUNKS = lazy_re(r"(?P<path>.+):(?P<numbers>\d+(?:,\d+)*)")
_MOST_NAMED = 5


class ChangeListing(Struct, frozen=True):
    """A change list with what was decided on it."""

    task_id: str
    folder: Path
    changes: ChangeList
    decisions: Decisions

    def decision(self, change: FileChange) -> Decision:
        """Return what was decided on one file."""
        return self.decisions.get(change.path, Decision())


class Selection(Struct, frozen=True):
    """One file of a request, with the numbers of the hunks that are meant: all that are open."""

    change: FileChange
    hunks: tuple[int, ...]
    whole: bool


class HunksClash(Unplaceable):
    """Some hunks of a text do not fit what is there now; `hunks` has their numbers, from 1."""

    def __init__(self, hunks: Sequence[int], text: str) -> None:
        super().__init__(text)
        self.hunks = frozenset(hunks)


class Placement(Struct, frozen=True):
    """What accepting comes to for one file: what is there, and what is to be."""

    path: str
    target: str
    there: FileSide | None
    then: FileSide | None
    decision: Decision
    content: bytes | None = None  # of `then`, where it is not kept yet


def listing_of(store: Store, task: str) -> ChangeListing:
    """Return the change list of a task. ActionError where there is none."""
    task_id = checks.task_id(store, task)
    folder = task_files.folder_of(store.layout, task_id)
    try:
        changes = change_records.read_list(folder) if folder else None
        decisions = change_records.read_decisions(folder) if folder and changes else {}
    except OSError as error:
        raise ActionError(f"{error}: what the task changed is in {folder}") from error
    if folder is None or changes is None:
        reason = "it worked in place, or has not ended yet"
        raise ActionError(f"task {ids.short(task_id)} has no change list: {reason}", missing=True)
    return ChangeListing(task_id, folder, changes, decisions)


def choose(listing: ChangeListing, paths: Sequence[str]) -> list[Selection]:
    """Return the files that are meant, as far as they are open. ActionError for names that are not in the list."""
    if not paths:
        return [selection for change in listing.changes.files if (selection := open_part(listing, change))]
    chosen: dict[str, Selection] = {}
    for path in paths:
        for selection in _named(listing, path):
            chosen[selection.change.path] = selection
    return list(chosen.values())


def _named(listing: ChangeListing, path: str) -> list[Selection]:
    below = path.rstrip("/") + "/"
    changes = [change for change in listing.changes.files if change.path == path or change.path.startswith(below)]
    if changes:
        return [selection for change in changes if (selection := open_part(listing, change))]
    match = _HUNKS.fullmatch(path)
    change = listing.changes.find(match["path"]) if match else None
    if match is None or change is None:
        known = [change.path for change in listing.changes.files]
        raise ActionError(f"{one_line(path, 200)} is not in the change list", candidates=refusal.nearest(path, known))
    numbers = tuple(sorted({int(number) for number in match["numbers"].split(",")}))
    open_hunks = listing.decision(change).open_hunks(change)
    if wrong := [number for number in numbers if not 1 <= number <= change.hunks]:
        raise ActionError(f"{change.path} has {change.hunks} hunks, and none with the number {wrong[0]}")
    if decided := [number for number in numbers if number not in open_hunks]:
        raise ActionError(f"hunk {decided[0]} of {change.path} was decided on: undo that first")
    return [Selection(change, numbers, whole=numbers == tuple(range(1, change.hunks + 1)))]


def open_part(listing: ChangeListing, change: FileChange) -> Selection | None:
    """Return what of a file is not decided on; None for nothing."""
    decision = listing.decision(change)
    state = decision.state(change)
    if state not in ("open", "part"):
        return None
    return Selection(change, decision.open_hunks(change), whole=state == "open")


def conflict_of(listing: ChangeListing, selection: Selection) -> str:
    """Return why a change does not fit what is there now, or empty."""
    try:
        plan(listing, selection)
    except Unplaceable as error:
        return str(error)
    return ""


def clashing(listing: ChangeListing, selection: Selection) -> frozenset[int]:
    """Return the numbers of those hunks of a text that do not fit what is there now."""
    try:
        plan(listing, selection)
    except HunksClash as error:
        return error.hunks
    except (Unplaceable, OSError):
        return frozenset(selection.hunks)
    return frozenset()


def plan(listing: ChangeListing, selection: Selection) -> Placement:
    """Return what accepting comes to for one file. Raise Unplaceable where it does not fit."""
    change = selection.change
    target = placing.target_of(listing.changes.top, change)
    there = placing.side_there(target)
    decision = _accepted(listing.decision(change), selection)
    fits = there.same(change.before) if there is not None else change.before is None
    if (there is not None and there.same(change.after)) or (there is None and change.after is None):
        return Placement(change.path, target, there, there, decision)
    if selection.whole and fits:
        return Placement(change.path, target, there, _as_there(change.after, there), decision)
    then, content = _merged(listing, selection, target, there)
    return Placement(change.path, target, there, then, decision, content)


def _as_there(after: FileSide | None, there: FileSide | None) -> FileSide | None:
    if after is None or after.link:
        return after
    return msgspec.structs.replace(after, mode=placing.mode_for(after, there))


def _what_differs(change: FileChange, there: FileSide | None) -> str:
    if there is None:
        return "the file is gone since the task began"
    if change.before is None:
        return "the file was not there for the task, and is now"
    return "the file is not as the task found it"


def _merged(
    listing: ChangeListing, selection: Selection, target: str, there: FileSide | None
) -> tuple[FileSide, bytes]:
    change = selection.change
    if not change.text or there is None or there.link or change.before is None or change.after is None:
        raise Unplaceable(_what_differs(change, there))
    before, after = records.content(listing.folder, change.before), records.content(listing.folder, change.after)
    try:
        text = merge(records.current(target, there), before, after, selection.hunks)
    except Conflict as error:
        raise HunksClash(error.hunks, f"{error} what is there now") from error
    mode = placing.mode_for(change.after, there) if selection.whole else there.mode
    return records.side_of_bytes(text, mode=mode), text


def _accepted(decision: Decision, selection: Selection) -> Decision:
    if selection.whole:
        return Decision(whole="accepted")
    return Decision(accepted=tuple(sorted({*decision.accepted, *selection.hunks})), dropped=decision.dropped)


def _dropped(decision: Decision, selection: Selection) -> Decision:
    if selection.whole:
        return Decision(whole="dropped")
    return Decision(accepted=decision.accepted, dropped=tuple(sorted({*decision.dropped, *selection.hunks})))


def accept(store: Store, request: AcceptChanges, *, by: str, now: float) -> Done:
    """Check every file, then write them all, or none where one does not fit."""
    with locks.waiting_lock(store.layout.changes_lock):
        listing = listing_of(store, request.task_id)
        chosen = _some(listing, request.paths)
        planned, conflicts = _plans(listing, chosen)
        if conflicts and (not request.fitting or not planned):
            raise _does_not_fit(listing, conflicts)
        unfitting = f"; {len(conflicts)} did not fit" if conflicts else ""
        fitting = [selection for selection in chosen if selection.change.path not in conflicts]
        text = f"{_counted(fitting)} of task {ids.short(listing.task_id)} accepted{unfitting}"
        return _carry_out(store, listing, planned, "changes.accept", text, by=by, now=now)


def _plans(listing: ChangeListing, chosen: Iterable[Selection]) -> tuple[list[Placement], dict[str, str]]:
    planned, conflicts = [], {}
    for selection in chosen:
        try:
            planned.append(plan(listing, selection))
        except Unplaceable as error:
            conflicts[selection.change.path] = str(error)
        except OSError as error:
            raise ActionError(f"{selection.change.path}: {error}; nothing was changed") from error
    return planned, conflicts


def _does_not_fit(listing: ChangeListing, conflicts: dict[str, str]) -> ActionError:
    named = "; ".join(f"{path}: {reason}" for path, reason in list(conflicts.items())[:_MOST_NAMED])
    more = f"; and {len(conflicts) - _MOST_NAMED} more" if len(conflicts) > _MOST_NAMED else ""
    task = ids.short(listing.task_id)
    return ActionError(
        f"nothing was accepted, as not all of it fits: {named}{more}. `changes edit {task} PATH` opens a file with "
        f"both sides, `changes give {task}` has a worker bring them together, `--fitting` accepts the rest"
    )


def _some(listing: ChangeListing, paths: Sequence[str]) -> list[Selection]:
    chosen = choose(listing, paths)
    if not chosen:
        raise ActionError("nothing of that is open: it was decided on already", missing=True)
    return chosen


def _counted(chosen: Sequence[Selection]) -> str:
    """Say how much that is: of one file that is not meant whole its hunks."""
    if len(chosen) == 1 and not chosen[0].whole:
        return f"{plural(len(chosen[0].hunks), 'hunk')} of {one_line(chosen[0].change.path, 100)}"
    return plural(len(chosen), "file")


def drop(store: Store, request: DropChanges, *, by: str, now: float) -> Done:
    """Note the decision; no file is touched."""
    with locks.waiting_lock(store.layout.changes_lock):
        listing = listing_of(store, request.task_id)
        chosen = _some(listing, request.paths)
        decided = {
            selection.change.path: _dropped(listing.decision(selection.change), selection) for selection in chosen
        }
        text = f"{_counted(chosen)} of task {ids.short(listing.task_id)} dropped"
        changes = [_decided(listing, path, decision) for path, decision in decided.items()]
        action = edits.new_action("changes.drop", changes, summary=text, by=by, now=now, target=listing.task_id)
        with journal.carrying_out(store.layout, action):
            change_records.write_decisions(
                store.layout, listing.folder, listing.changes, {**listing.decisions, **decided}
            )
    return Done(summary=text, target=listing.task_id, action_id=action.id)


def write(store: Store, request: WriteChange, *, by: str, now: float) -> Done:
    """Bring in a file as a person edited it: its content is kept with the list already."""
    with locks.waiting_lock(store.layout.changes_lock):
        listing = listing_of(store, request.task_id)
        change = listing.changes.find(request.path)
        if change is None:
            raise ActionError(f"{one_line(request.path, 200)} is not in the change list", missing=True)
        try:
            target = placing.target_of(listing.changes.top, change)
            there = placing.side_there(target)
            mode = placing.mode_for(change.after, there) if change.after else there.mode if there else 0o644
            edited = files.read(records.content_path(listing.folder, FileSide(request.sha256, 0)))
        except Unplaceable as error:
            raise ActionError(f"{change.path}: {error}") from error
        except OSError as error:
            raise ActionError(str(error)) from error
        if edited is None:
            raise ActionError("what was edited is gone: open it again with `changes edit`")
        then = FileSide(request.sha256, len(edited), mode)
        planned = Placement(change.path, target, there, then, Decision(whole="edited"))
        clashes = edited.count(MARK)
        remark = f", with {plural(clashes, 'clash', 'clashes')} still between marks" if clashes else ""
        text = f"{change.path} of task {ids.short(listing.task_id)} brought in as edited{remark}"
        return _carry_out(store, listing, [planned], "changes.write", text, by=by, now=now)


def _carry_out(
    store: Store, listing: ChangeListing, planned: list[Placement], verb: str, text: str, *, by: str, now: float
) -> Done:
    changes = [_placed(listing, placement) for placement in planned]
    action = edits.new_action(verb, changes, summary=text, by=by, now=now, target=listing.task_id)
    decisions = {**listing.decisions, **{placement.path: placement.decision for placement in planned}}
    with journal.carrying_out(store.layout, action):
        for placement in planned:
            _keep(listing, placement)
        _place(listing, planned)
        change_records.write_decisions(store.layout, listing.folder, listing.changes, decisions)
    return Done(summary=f"{text}: {listing.changes.top}", target=listing.task_id, action_id=action.id)


def _keep(listing: ChangeListing, placement: Placement) -> None:
    """Keep what is there for undo, and what is to be. ActionError where that cannot be, or it changed just now."""
    try:
        if placement.content is not None and placement.then is not None:
            records.keep_bytes(listing.folder, placement.content, mode=placement.then.mode)
        records.must_be_whole(listing.folder, placement.then)
        there = records.keep(listing.folder, placement.target) if placement.there is not None else None
    except OSError as error:
        raise ActionError(f"{placement.path} cannot be kept for undo: {error}; nothing was changed") from error
    if there != placement.there:
        raise ActionError(f"{placement.path} is changing right now: try again in a moment")


def _place(listing: ChangeListing, planned: list[Placement]) -> None:
    """Write all files, or put back those that were written before one that could not be."""
    done: list[Placement] = []
    for placement in planned:
        try:
            _put(listing.folder, placement.target, placement.then)
        except OSError as error:
            for earlier in reversed(done):
                _put(listing.folder, earlier.target, earlier.there)
            raise ActionError(
                f"{placement.path} could not be written: {error.strerror or error}; nothing was changed"
            ) from error
        done.append(placement)


def _put(folder: Path, target: str, side: FileSide | None) -> None:
    placing.put(target, side, str(records.content_path(folder, side)) if side is not None else "")


def _placed(listing: ChangeListing, placement: Placement) -> Change:
    before = {"there": _plain(placement.there), "decision": _plain(listing.decisions.get(placement.path))}
    return Change(
        KIND,
        _key(listing, placement.path),
        before,
        {"there": _plain(placement.then), "decision": _plain(placement.decision)},
    )


def _decided(listing: ChangeListing, path: str, decision: Decision) -> Change:
    return Change(
        KIND, _key(listing, path), {"decision": _plain(listing.decisions.get(path))}, {"decision": _plain(decision)}
    )


def _key(listing: ChangeListing, path: str) -> str:
    return f"{listing.task_id} {path}"


def _plain(value: FileSide | Decision | None) -> object:
    """Return a value as the journal has it."""
    return None if value is None else msgspec.json.decode(msgspec.json.encode(value))


def _of(store: Store, change: Change) -> tuple[ChangeListing, FileChange]:
    task_id, _, path = change.key.partition(" ")
    listing = listing_of(store, task_id)
    file_change = listing.changes.find(path)
    if file_change is None:
        raise ActionError(f"{path} is no longer in the change list of {task_id}")
    return listing, file_change


def file_now(store: Store, change: Change) -> Side | None:
    """For undo: what is there, and what was decided."""
    listing, file_change = _of(store, change)
    now: Side = {"decision": _plain(listing.decisions.get(file_change.path))}
    if "there" in (change.after or {}):
        try:
            now["there"] = _plain(placing.side_there(placing.target_of(listing.changes.top, file_change)))
        except Unplaceable as error:
            raise ActionError(f"{file_change.path}: {error}") from error
    return {name: now[name] for name in (change.after or {})}


def put_file(store: Store, change: Change) -> None:
    """For undo: put the file back byte for byte, with its mode, and take the decision back."""
    with locks.waiting_lock(store.layout.changes_lock):
        listing, file_change = _of(store, change)
        after = change.after or {}
        if "there" in after:
            side = msgspec.convert(after["there"], FileSide | None)
            try:
                _put(listing.folder, placing.target_of(listing.changes.top, file_change), side)
            except (Unplaceable, OSError) as error:
                raise ActionError(f"{file_change.path} could not be written: {error}") from error
        decisions = dict(listing.decisions)
        decision = msgspec.convert(after.get("decision"), Decision | None)
        if decision is None:
            decisions.pop(file_change.path, None)
        else:
            decisions[file_change.path] = decision
        change_records.write_decisions(store.layout, listing.folder, listing.changes, decisions)


def default_message(store: Store, listing: ChangeListing) -> str:
    """Return a commit's message: the first line of the task's objective."""
    spec = task_files.read_spec(store.layout, listing.task_id)
    return one_line(spec.objective if spec else listing.task_id, 72)


def env_path() -> str:
    """Return the PATH in which git is found."""
    return os.environ.get("PATH", os.defpath)
