"""The attention queue: items are dismissed or snoozed by an action, and come back when that is undone."""

from __future__ import annotations

from collections.abc import Iterable

from lumen_tui.actions import checks, edits
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import times
from lumen_tui.model.attention import unsnoozed, until_then
from lumen_tui.model.records import Change
from lumen_tui.model.requests.attention import DismissItems, RestoreItems, SnoozeItems
from lumen_tui.model.text import one_line
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.tasks import task_files

_LONGEST = 366 * times.DAY


def dismiss(store: Store, request: DismissItems, *, by: str, now: float) -> Done:
    """Record one action for each item: what is dismissed is read from the journal of actions alone."""
    entries = [(target, f"{one_line(target, 80)} dismissed") for target in _named(request.targets)]
    return _record(store, "attention.dismiss", entries, "dismissed", by=by, now=now, reason=request.reason)


def dismiss_one(store: Store, target: str, *, by: str, now: float, reason: str) -> None:
    """Dismiss an item as part of another action, with which it comes back."""
    change = Change(kind="attention", key=target, before=None, after={"dismissed": True})
    summary = f"{one_line(target, 80)} dismissed"
    action = edits.new_action("attention.dismiss", [change], summary=summary, by=by, now=now, reason=reason)
    journal.record(store.layout, action)


def snooze(store: Store, request: SnoozeItems, *, by: str, now: float) -> Done:
    """Record one action for each item, whose name in the journal says until when."""
    if not 1 <= request.seconds <= _LONGEST:
        raise ActionError("an item is snoozed for 1 second at least and a year at most")
    state = f"snoozed until {times.time_of_day(now + request.seconds)}"
    entries = [
        (until_then(target, now + request.seconds), f"{one_line(target, 80)} {state}")
        for target in _named(request.targets)
    ]
    return _record(store, "attention.snooze", entries, state, by=by, now=now, reason=request.reason)


def back(store: Store, request: RestoreItems, *, by: str, now: float) -> Done:
    """Record one action for each item; a task that was archived as dismissed is moved back."""
    entries = [(target, f"{one_line(target, 80)} is back on the list") for target in _named(request.targets)]
    outcome = _record(store, "attention.back", entries, "back on the list", by=by, now=now, reason=request.reason)
    for target, _ in entries:
        task_files.unarchive(store.layout, target)
    return outcome


def put(store: Store, change: Change) -> None:
    """For undo: bring back a failed task that was archived meanwhile; the record of the undo does the rest."""
    if not change.after:
        task_files.unarchive(store.layout, unsnoozed(change.key))


def _named(targets: str | Iterable[str]) -> list[str]:
    names = checks.as_ids(targets)
    if not all(target.strip() for target in names):
        raise ActionError("an item without a target cannot be dismissed")
    return list(names)


def _record(
    store: Store, verb: str, entries: list[tuple[str, str]], state: str, *, by: str, now: float, reason: str
) -> Done:
    """Record one action for each item, so that each can be undone separately."""
    actions = []
    for key, entry_summary in entries:
        change = Change(kind="attention", key=key, before=None, after={"dismissed": True})
        actions.append(
            edits.new_action(verb, [change], summary=entry_summary, by=by, now=now, reason=reason, apart=True)
        )
    journal.record(store.layout, *actions)
    summary = actions[0].summary if len(actions) == 1 else f"{len(actions)} items {state}"
    return Done(summary=summary, target=entries[0][0], action_id=actions[-1].id)
