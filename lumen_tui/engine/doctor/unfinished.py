"""Actions that were begun and whose end was not told: their process was killed between two writes."""

from __future__ import annotations

from collections.abc import Iterator

from lumen_tui.actions import kinds, registry, turning
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.doctor.finding import Finding
from lumen_tui.model.records import Action, Change, Stage
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.audit.journal import JournalEntry

_VERBS = registry.VERBS  # what undo needs of a verb stands beside it, and is known once all of them are


def unfinished(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Each is done as a whole, or it is taken back."""
    store = Store(layout.root)
    for entry in journal.open_entries(layout):
        summary = one_line(entry.first.summary or entry.first.verb, 80)
        fault = f"an action of {one_line(entry.first.by, 40)} was cut off: {summary}"
        hint = f"`undo {entry.first.id}` takes back what stands of it, doctor --fix finishes or clears it"
        mended = _mend(store, entry, now) if fix else ""
        yield Finding("unfinished actions", "actions.jsonl", fault, hint, mendable=True, mended=mended)


def _mend(store: Store, entry: JournalEntry, now: float) -> str:
    """What was done about it; nothing where that cannot be."""
    begun = [action for action in entry.actions if action.stage == Stage.BEGUN]
    try:
        with locks.waiting_lock(store.layout.lock("roles")):
            return "; ".join(dict.fromkeys([_mend_one(store, action, now) for action in reversed(begun)]))
    except (ActionError, files.StoreError, OSError, LookupError):
        return ""


def _mend_one(store: Store, action: Action, now: float) -> str:
    lines = journal.begun_lines(action)
    stands = [_stands(store, change) for change in action.changes]
    if stands and all(stands):
        journal.record_end(store.layout, lines, Stage.DONE)
        return "all of it stands: it counts as done"
    if any(stands):
        turned = [Change(change.kind, change.key, change.after, change.before) for change in reversed(action.changes)]
        turning.put_back(store, turned, by=action.by, now=now)
    journal.record_end(store.layout, lines, Stage.DROPPED)
    return "taken back" if any(stands) else "nothing of it stands: it does not count"


def _stands(store: Store, change: Change) -> bool:
    return kinds.side_now(store, change) == change.after
