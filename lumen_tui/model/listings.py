"""Rows of the lists that are asked for when they are opened, and are in no snapshot. Texts are safe."""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model.records import Node


class Alike(Struct, frozen=True):
    """An open discovery that resembles another one; `score` is the likeness of their titles in per cent."""

    node_id: str
    title: str
    priority: str
    wu_id: str
    tags: tuple[str, ...]
    created: float  # seconds since 1970
    score: int = 100
    sure: bool = True  # like enough to be decided with the other one unless a person says no


class AuditEntry(Struct, frozen=True):
    """One action of an operator, without what it changed."""

    id: str
    at: str
    by: str
    verb: str
    target: str = ""
    summary: str = ""
    reason: str = ""
    undoes: str = ""
    redoes: str = ""
    changes: int = 0  # how many things it changed
    undone: bool = False  # taken back, and not done again since
    client: str = ""  # the room or the session that it was done in, or `cli`
    group: str = ""  # the id of the first of several that are undone as one
    final: str = ""  # why it cannot be undone, and what to do instead
    stage: str = ""  # `begun` where it was cut off


class NodeRow(Struct, frozen=True):
    """A node that does not fade: archived, or protected. `why` says which rule or reason put it there."""

    node: Node
    touched: float  # seconds since 1970
    why: str
