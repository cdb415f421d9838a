"""Notes put into the archive by hand or by an agent; each can be undone."""

from __future__ import annotations

from lumen_tui.actions import checks, edits
from lumen_tui.actions.edits import Side
from lumen_tui.actions.facts import is_agent
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.model import ids
from lumen_tui.model.archive import WITHDRAWN, Passage, passage
from lumen_tui.model.records import Change
from lumen_tui.model.requests.memory import InsertPassage, WithdrawPassage
from lumen_tui.model.text import one_line
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import archive
from lumen_tui.store.tasks import task_files

KIND = "archival"  # of a change


def insert(store: Store, request: InsertPassage, *, by: str, now: float) -> Done:
    """Store a note permanently. The same `key` again means the same note, and nothing is written then."""
    writer = _writer(store, by, request.task_id)
    note = passage(
        request.text,
        by=by,
        now=now,
        tags=tuple(request.tags),
        importance=request.importance,
        kind=request.kind,
        source=request.source,
        lane=request.lane,
        key=request.key,
        trust=request.trust or ("agent" if writer or is_agent(store.layout, by) else "person"),
        task_id=writer,
        wu_id=checks.known_unit(store.layout, request.wu_id),
    )
    summary = f"kept {_quoted(note)} in the archive"
    change = Change(KIND, note.id, before={"status": WITHDRAWN}, after={"status": ""})
    action = edits.new_action("archive.insert", [change], summary=summary, by=by, now=now)
    if not archive.append(store.layout, [note], journal.begun_lines(action)):
        return Done(summary=f"{note.id} is in the archive already: nothing was written", target=note.id)
    return Done(summary=summary, target=note.id, action_id=action.id)


def _writer(store: Store, by: str, task_id: str) -> str:
    """Return the task that wrote a note: the one named, or the author if that is a task."""
    if task_id:
        return checks.task_id(store, task_id)
    return by if by.startswith(("tsk-", "loop-")) and task_files.folder_of(store.layout, by) else ""


def withdraw(store: Store, request: WithdrawPassage, *, by: str, now: float) -> Done:
    """Take a note out of the archive and of every search; undo brings it back."""
    note = _resolve(store, request.passage_id)
    if note.status == WITHDRAWN:
        raise ActionError(f"{note.id} is withdrawn already")
    summary = f"took {_quoted(note)} out of the archive"
    change = Change(KIND, note.id, before={"status": ""}, after={"status": WITHDRAWN})
    action = edits.new_action("archive.withdraw", [change], summary=summary, by=by, now=now, reason=request.reason)
    archive.set_status(store.layout, note.id, WITHDRAWN, journal.begun_lines(action))
    return Done(summary=summary, target=note.id, action_id=action.id)


def _quoted(note: Passage) -> str:
    return f"“{one_line(note.content.partition(chr(10))[0], 60)}”"


def _resolve(store: Store, text: str) -> Passage:
    """Return the note with this id or unique beginning of one."""
    try:
        name = archive.resolve(store.layout, ids.check_file_name(text, "archive id"))
    except ids.Ambiguous as error:
        raise ambiguous(text, error.candidates) from error
    except LookupError:
        raise ActionError(f"there is no note {text!r} in the archive", missing=True) from None
    if note := archive.find(store.layout, [name]).get(name):
        return note
    raise ActionError(f"the note {name} cannot be read: its line holds no note")


def passage_now(store: Store, change: Change) -> Side | None:
    """For undo: the note's current status; a missing note counts as withdrawn."""
    note = archive.find(store.layout, [change.key]).get(change.key)
    return {"status": note.status if note else WITHDRAWN}


def put_passage(store: Store, change: Change) -> None:
    """For undo: give a note the status of the change's `after`."""
    try:
        archive.set_status(store.layout, change.key, str((change.after or {}).get("status", "")))
    except LookupError:
        raise ActionError(f"the note {change.key} is not there: insert it again") from None
