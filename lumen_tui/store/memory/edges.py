"""relationships.jsonl: typed edges between nodes and work units. A later line may take an earlier one back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import Relationship
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout


class Edge(NamedTuple):
    """`start` is related to `finish` in the way that `type` says."""

    start: str
    finish: str
    type: str


class _Line(Relationship, frozen=True):
    removed: bool = False
    created_by: str = ""


_decode = msgspec.json.Decoder(_Line).decode


def in_force(layout: Layout) -> Iterator[Edge]:
    """The edges that stand, in the order in which they were first drawn."""
    removed: dict[Edge, bool] = {}
    for line in Journal(layout.relationships).lines():
        try:
            found = _decode(line)
        except UNDECODABLE:
            continue
        removed[Edge(found.from_id, found.to_id, found.type)] = found.removed
    yield from (edge for edge, gone in removed.items() if not gone)


def drawn(layout: Layout, edge: Edge) -> tuple[str, str]:
    """(when, by whom) an edge was drawn last; empty where nothing says so."""
    last = ("", "")
    for line in Journal(layout.relationships).lines():
        try:
            found = _decode(line)
        except UNDECODABLE:
            continue
        if edge == (found.from_id, found.to_id, found.type) and not found.removed:
            last = (found.created_at, found.created_by)
    return last


def draw(layout: Layout, edge: Edge, *, at: str, by: str, removed: bool = False) -> None:
    """Append a line that draws the edge, or takes it back."""
    line = {"from_id": edge.start, "to_id": edge.finish, "type": edge.type, "created_at": at, "created_by": by}
    Journal(layout.relationships).append({**line, **({"removed": True} if removed else {}), "schema": 1})
