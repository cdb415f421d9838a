"""The lines that make up a fact: written, completed after an interrupted call, and superseded."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lumen_tui.actions import edits, fields
from lumen_tui.actions.outcome import Done
from lumen_tui.model import facts, times
from lumen_tui.model.facts import Confirmation, Fact, Probe
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import facts as kept
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.nodes import Raw


def complete(store: Store, fact_id: str, confirmation: Confirmation | None, edge: Raw | None) -> Done:
    """Add the person's confirmation and the edge if an interrupted call with the same key left them out."""
    if confirmation and not _mentions(store.layout.confirmations, fact_id):
        kept.record(store.layout, [confirmation])
    if edge and not _mentions(store.layout.relationships, fact_id):
        store.relationships.append(edge)
    return Done(summary=f"the fact {fields.UNDER_KEY}", target=fact_id, aside=f"it {fields.UNDER_KEY}")


def node(claim: str, meta: Raw, *, by: str, now: float, wu_id: str = "") -> Raw:
    """Return a new line of memory.jsonl that holds a fact; it does not decay."""
    record = fields.node(claim, by=by, now=now, type="note", tags=[facts.TAG], wu_id=wu_id)
    return {**record, "lifecycle": "project", "metadata": {"fact": meta}}


def edge(start: str, finish: str, type: str, *, by: str, now: float) -> Raw:
    """Return a new line of relationships.jsonl."""
    line = {"from_id": start, "to_id": finish, "type": type, "created_at": times.iso(now), "created_by": by}
    return {**line, "schema": 1}


def _mentions(path: Path, name: str) -> bool:
    return any(name.encode() in line for line in Journal(path).lines())


def supersede(store: Store, fact: Fact, probe: Probe, value: str, *, now: float) -> str:
    """Replace a fact with what a probe saw; the old one is kept, with a link. Return the new id.

    Empty if somebody dealt with the fact meanwhile.
    """
    probes = tuple(
        msgspec.structs.replace(old_probe, expect=value) if old_probe.id == probe.id else old_probe
        for old_probe in fact.probes
    )
    source = f"probe {probe.id}: {facts.probe_words(probe)}"
    meta = facts.metadata(
        fact.span_class, source, probes, supersedes=fact.id, was=probe.expect, observation=fact.observation
    )
    record = node(_claim(fact, probe, value), meta, by="probe", now=now, wu_id=fact.wu_id)
    new_ids: list[str] = []

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        old = records.get(fact.id)
        if old is None or edits.status_of(old) != "open":
            return [], b""
        link = {"metadata.status": "superseded", "metadata.superseded_by": record["id"]}
        edits.patch(old, link, by="probe", now=now)
        new_ids.append(record["id"])
        return [old, record], b""

    nodes.change(store.layout, [fact.id], edit)
    if not new_ids:
        return ""
    store.relationships.append(edge(new_ids[0], fact.id, "related", by="probe", now=now))
    return new_ids[0]


def _claim(fact: Fact, probe: Probe, value: str) -> str:
    """Return the claim with the new value in place of the old one, or beside it where the claim does not name that."""
    if probe.expect and probe.expect in fact.claim:
        return fact.claim.replace(probe.expect, value)
    return f"{fact.claim}\n(seen now: {value}; was: {probe.expect or 'not said'})"
