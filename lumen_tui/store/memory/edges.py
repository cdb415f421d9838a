"""Typed edges between nodes and work units, in relationships.jsonl. A later line may withdraw an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.records import Relationship
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout


class Edge(NamedTuple):
    """`start` is related to `finish` in the way that `type` says."""

    start: str
    finish: str
    type: str


class _EdgeLine(Relationship, frozen=True):
    removed: bool = False
    created_by: str = ""


_decoder = lazy_decoder(_EdgeLine)


def in_force(layout: Layout) -> Iterator[Edge]:
    """Yield the edges in force, in the order in which they were first drawn."""
    removed: dict[Edge, bool] = {}
    for line in Journal(layout.relationships).lines():
        try:
            record = _decoder.decode(line)
        except UNDECODABLE:
            continue
        removed[Edge(record.from_id, record.to_id, record.type)] = record.removed
    yield from (edge for edge, is_removed in removed.items() if not is_removed)


def drawn(layout: Layout, edge: Edge) -> tuple[str, str]:
    """Return (when, by whom) an edge was last drawn; empty texts where it was not."""
    last = ("", "")
    for line in Journal(layout.relationships).lines():
        try:
            record = _decoder.decode(line)
        except UNDECODABLE:
            continue
        if edge == (record.from_id, record.to_id, record.type) and not record.removed:
            last = (record.created_at, record.created_by)
    return last


def draw(layout: Layout, edge: Edge, *, at: str, by: str, removed: bool = False) -> None:
    """Append a line that draws the edge, or withdraws it."""
    line = {"from_id": edge.start, "to_id": edge.finish, "type": edge.type, "created_at": at, "created_by": by}
    Journal(layout.relationships).append({**line, **({"removed": True} if removed else {}), "schema": 1})
