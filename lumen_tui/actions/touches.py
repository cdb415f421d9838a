"""Touches: a node's age counts from the last one. Undo takes them out, so that it counts as before."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.actions import edits, lines
from lumen_tui.actions.outcome import Done
from lumen_tui.model import times
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal

KIND = "touches"  # of a change
touches_now, put_touches = lines.sides(lambda store: store.layout.touches)


def add(store: Store, node_ids: Sequence[str], verb: str, said: str, *, by: str, now: float) -> Done:
    """Append a touch of each node; `{}` in what is said becomes their number."""
    at = times.iso(now)
    touched = [{"node_id": node_id, "at": at, "kind": "touch", "by": by, "schema": 1} for node_id in node_ids]
    summary = said.replace("{}", f"{len(touched)} node{'s' if len(touched) > 1 else ''}")
    action = edits.new_action(verb, lines.changes_of(KIND, touched), summary=summary, by=by, now=now)
    with journal.carrying_out(store.layout, action):
        store.touches.append_all(touched)
    return Done(summary=summary, target=node_ids[0], action_id=action.id)
