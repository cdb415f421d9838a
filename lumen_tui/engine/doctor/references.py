"""What records say of each other: work units and nodes that are named and not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from lumen_tui.engine.doctor.finding import NOTE, Finding
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import Relationship
from lumen_tui.model.text import one_line
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory.node_scan import newest_nodes

_MOST_NAMED = 20
_edge = msgspec.json.Decoder(Relationship).decode


def references(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Nodes on unknown work units and edges that lead nowhere. Both are honoured, so both are notes."""
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
