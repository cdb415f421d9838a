"""Nodes as lists of one moment: each is read from disk, and made safe, when it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from lumen_tui.model import decay
from lumen_tui.model.decay import PROTECTIONS, DecayForecast, DecayRule
from lumen_tui.model.decoding import UNDECODABLE, readable
from lumen_tui.model.listings import NodeRow
from lumen_tui.model.records import Node
from lumen_tui.model.snapshot import DiscoveryRow
from lumen_tui.model.text import safe, safe_all
from lumen_tui.storage.lazy_rows import LazyRows
from lumen_tui.storage.line_access import OpenFile
from lumen_tui.store.memory.row_table import Row, RowTable

R = TypeVar("R")
_node = msgspec.json.Decoder(Node)


def decode_node(line: bytes) -> Node:
    """Return a node with every text made safe. A field of a wrong type has its default, an id is empty."""
    try:
        node = _node.decode(line)
    except UNDECODABLE:
        node = readable(line, Node, id="", type="note", content="", created_at="")
    return Node(
        id=safe(node.id),
        type=safe(node.type),
        content=safe(node.content),
        created_at=safe(node.created_at),
        lifecycle=safe(node.lifecycle),
        updated_at=safe(node.updated_at),
        wu_id=safe(node.wu_id),
        session_id=safe(node.session_id),
        tags=tuple(safe(tag) for tag in node.tags),
        metadata=safe_all(node.metadata),
        created_by=safe(node.created_by),
    )


class _IndexedRows(LazyRows[R]):
    """Some rows of the node index, in a given order."""

    def __init__(self, file: OpenFile, rows: RowTable, order: Sequence[int]) -> None:
        self._file = file
        self._rows = rows
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    def at(self, place: int) -> R:
        row = self._rows[self._order[place]]
        return self.row_of(row, decode_node(self._file.line(row.offset)))

    def row_of(self, row: Row, node: Node) -> R:
        """Return what is shown of a node."""
        raise NotImplementedError


class DiscoveryList(_IndexedRows[DiscoveryRow]):
    """Open discoveries of one moment, by priority, then oldest first."""

    def row_of(self, row: Row, node: Node) -> DiscoveryRow:
        return DiscoveryRow(node=node, created=row.created)


class DecayList(_IndexedRows[DecayForecast]):
    """Active, unprotected nodes of one moment, the next to be archived first."""

    def __init__(self, file: OpenFile, rows: RowTable, order: Sequence[int], rule: DecayRule, now: float) -> None:
        super().__init__(file, rows, order)
        self._rule = rule
        self._now = now

    def row_of(self, row: Row, node: Node) -> DecayForecast:
        return DecayForecast(
            node_id=node.id,
            title=node.title,
            score=decay.score(self._now - row.touched, self._rule),
            fades_at=decay.fades_at(row.touched, self._rule),
            touched=row.touched,
        )


class NodeList(_IndexedRows[NodeRow]):
    """Nodes that do not decay, each with the reason."""

    def row_of(self, row: Row, node: Node) -> NodeRow:
        protection = row.kept and not row.status  # a status other than 0 is not active
        return NodeRow(node, row.touched, PROTECTIONS[row.kept - 1] if protection else archive_reason(node))


def archive_reason(node: Node) -> str:
    """Return why a node was archived, as its record says; empty where it does not."""
    score = node.metadata.get("decay")
    reason = node.metadata.get("archive_reason") or (score.get("reason") if isinstance(score, dict) else "")
    return reason if isinstance(reason, str) else ""
