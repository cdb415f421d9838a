"""What operators tell each other: claims and the hand-over note. Each is one line of the journal of actions."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.actions import checks, edits
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import times
from lumen_tui.model.operators import MOST_NOTE
from lumen_tui.model.records import Change
from lumen_tui.model.requests.operators import ClaimItems, LeaveNote, ReleaseItems
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.settings.config import load_config

CLAIM_KIND, NOTE_KIND = "claim", "note"
_LONGEST = 7 * times.DAY


def claim(store: Store, request: ClaimItems, *, by: str, now: float) -> Done:
    """Record one claim for each target, in place of whoever had it."""
    seconds = request.seconds or load_config(store.layout)[0].room.claim_minutes * times.MINUTE
    if not 1 <= seconds <= _LONGEST:
        raise ActionError("a claim lasts for 1 second at least and a week at most")
    until = times.iso(now + seconds)
    state = f"claimed until {times.time_of_day(now + seconds)}"
    return _record(store, "operator.claim", request.targets, {"until": until}, state, by=by, now=now)


def release(store: Store, request: ReleaseItems, *, by: str, now: float) -> Done:
    """Record the end of claims."""
    return _record(store, "operator.release", request.targets, {"until": ""}, "released", by=by, now=now)


def _record(
    store: Store, verb: str, targets: str | Sequence[str], after: dict[str, str], state: str, *, by: str, now: float
) -> Done:
    names = checks.as_ids(targets)
    if not all(name.strip() for name in names):
        raise ActionError("name what it is about: the id of what needs you, a discovery or a task")
    actions = [
        edits.new_action(
            verb,
            [Change(kind=CLAIM_KIND, key=name, before=None, after=after)],
            summary=f"{one_line(name, 80)} {state}",
            by=by,
            now=now,
            apart=True,
        )
        for name in names
    ]
    journal.record(store.layout, *actions)
    summary = actions[0].summary if len(actions) == 1 else f"{len(actions)} items {state}"
    return Done(summary=summary, target=names[0], action_id=actions[-1].id)


def note(store: Store, request: LeaveNote, *, by: str, now: float) -> Done:
    """Record a note in place of the one before, which stays in the journal."""
    text = safe(request.text).strip()
    if not text:
        raise ActionError("the note is empty: say what the next one should know")
    if len(text) > MOST_NOTE:
        raise ActionError(f"a note has {MOST_NOTE:,} characters at most, this one {len(text):,}")
    change = Change(kind=NOTE_KIND, key="handover", before=None, after={"text": text})
    summary = f"hand-over note: {one_line(text, 120)}"
    action = edits.new_action("operator.note", [change], summary=summary, by=by, now=now, apart=True)
    journal.record(store.layout, action)
    return Done(summary="note left for whoever opens the room next", target=action.id, action_id=action.id)


def put(_: Store, __: Change) -> None:
    """For undo: the record of the undo does it all."""
