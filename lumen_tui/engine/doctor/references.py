"""Records that do not fit together: references to what is not there, and actions that were cut off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from lumen_tui.actions import kinds, registry, turning
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.doctor.finding import NOTE, Finding
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import Action, Change, Relationship, Stage
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, locks
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.audit.journal import JournalEntry
from lumen_tui.store.memory.node_bulk import newest_nodes

_MOST_NAMED = 20
_edge = msgspec.json.Decoder(Relationship).decode
_VERBS = registry.VERBS  # what undo needs of a verb is registered beside it, and is known once all of them are


def references(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Report nodes on unknown work units and edges that lead nowhere, as notes: both are honoured."""
    units = {path.stem for path in layout.work.rglob("WU-*.md")}
    known, unknown = set(units), Counter[str]()
    for node in newest_nodes(layout):
        known.add(str(node["id"]))
        wu_id = node.get("wu_id")
        if isinstance(wu_id, str) and wu_id and wu_id not in units:
            unknown[wu_id] += 1
    for wu_id, count in unknown.most_common(_MOST_NAMED):
        fault = f"{count} node(s) are about {one_line(wu_id, 40)}, which has no file in work/"
        yield Finding("work units", "memory/memory.jsonl", fault, "`wu new --id` makes it", NOTE)
    if len(unknown) > _MOST_NAMED:
        fault = f"{len(unknown) - _MOST_NAMED} further work units have nodes and no file"
        yield Finding("work units", "memory/memory.jsonl", fault, level=NOTE)
    yield from _edges(layout, known)


def _edges(layout: Layout, known: set[str]) -> Iterator[Finding]:
    for number, line in enumerate(Journal(layout.relationships).lines(), start=1):
        try:
            edge = _edge(line)
        except UNDECODABLE:
            continue
        missing = [node_id for node_id in (edge.from_id, edge.to_id) if node_id not in known]
        if missing:
            fault = f"{one_line(edge.type, 40)} leads to nothing: {one_line(', '.join(missing), 100)} is not there"
            yield Finding("relationships", f"memory/relationships.jsonl:{number}", fault, level=NOTE)


def unfinished(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Report actions whose end was not recorded; each is completed or taken back."""
    store = Store(layout.root)
    for entry in journal.open_entries(layout):
        summary = one_line(entry.first.summary or entry.first.verb, 80)
        fault = f"an action of {one_line(entry.first.by, 40)} was cut off: {summary}"
        hint = f"`undo {entry.first.id}` takes back what stands of it, doctor --fix finishes or clears it"
        mended = _repair(store, entry, now) if fix else ""
        yield Finding("unfinished actions", "actions.jsonl", fault, hint, mendable=True, mended=mended)


def _repair(store: Store, entry: JournalEntry, now: float) -> str:
    """Complete or take back an action; return what was done, or the empty string."""
    begun = [action for action in entry.actions if action.stage == Stage.BEGUN]
    try:
        with locks.waiting_lock(store.layout.lock("roles")):
            return "; ".join(dict.fromkeys([_repair_one(store, action, now) for action in reversed(begun)]))
    except (ActionError, files.StoreError, OSError, LookupError):
        return ""


def _repair_one(store: Store, action: Action, now: float) -> str:
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
