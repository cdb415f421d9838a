"""The lines that a fact is, and what a call that was cut off left out of them: made up for by its key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lumen_tui.actions import fields
from lumen_tui.actions.outcome import Done
from lumen_tui.model import facts, times
from lumen_tui.model.facts import Confirmation
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import facts as kept


def finish(store: Store, fact_id: str, word: Confirmation | None, edge: dict[str, Any] | None) -> Done:
    """Add the person's word and the edge where the fact has none yet."""
    if word and not _mentions(store.layout.confirmations, fact_id):
        kept.record(store.layout, [word])
    if edge and not _mentions(store.layout.relationships, fact_id):
        store.relationships.append(edge)
    return Done(summary=f"the fact {fields.UNDER_KEY}", target=fact_id, aside=f"it {fields.UNDER_KEY}")


def node(claim: str, meta: dict[str, Any], *, by: str, now: float, wu_id: str = "") -> dict[str, Any]:
    """A new line of memory.jsonl that holds a fact; it does not fade."""
    record = fields.node(claim, by=by, now=now, type="note", tags=[facts.TAG], wu_id=wu_id)
    return {**record, "lifecycle": "project", "metadata": {"fact": meta}}


def edge(start: str, finish: str, type: str, *, by: str, now: float) -> dict[str, Any]:
    """A line of relationships.jsonl."""
    found = {"from_id": start, "to_id": finish, "type": type, "created_at": times.iso(now), "created_by": by}
    return {**found, "schema": 1}


def _mentions(path: Path, name: str) -> bool:
    return any(name.encode() in line for line in Journal(path).lines())
