"""Where a thing came from and what became of it, as a tree of frozen steps with their tokens and cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from lumen_tui.model.text import one_line


class Hop(Struct, frozen=True):
    """One thing in the chain. `link` says how it is related to the hop above it in the tree.

    Tokens and dollars are the thing's own: those of a task are of all its calls, those of a call are the answer's in
    which the model made it, and of the task's dollars the share that its tokens are.
    """

    id: str
    kind: str  # signal, loop, task, call, approval, question, work, or a node's type; empty where nothing of it is left
    title: str = ""
    status: str = ""
    at: str = ""
    by: str = ""
    link: str = ""
    tokens: int = 0
    usd: float = 0.0
    steps: tuple[Hop, ...] = ()
    again: bool = False  # shown in full elsewhere in this tree
    more: int = 0  # further ones that were left out


class Trace(Struct, frozen=True):
    """A thing with the chain up (what caused it) and down (what came of it)."""

    node: Hop
    up: tuple[Hop, ...] = ()
    down: tuple[Hop, ...] = ()

    @property
    def spent(self) -> tuple[int, float]:
        """Tokens and dollars of the tasks and loops in it, each counted once."""
        hops = {hop.id: hop for _, _, hop in rows(self) if hop.kind in ("task", "loop")}
        return sum(hop.tokens for hop in hops.values()), sum(hop.usd for hop in hops.values())


class TreeRow(NamedTuple):
    """One line of the tree: `side` is up, here or down."""

    side: str
    depth: int
    hop: Hop


def rows(trace: Trace) -> Iterator[TreeRow]:
    """Yield the tree line by line: causes above, the thing itself, effects below."""
    for hop in trace.up:
        yield from _below("up", 1, hop)
    yield TreeRow("here", 0, trace.node)
    for hop in trace.down:
        yield from _below("down", 1, hop)


def _below(side: str, depth: int, hop: Hop) -> Iterator[TreeRow]:
    yield TreeRow(side, depth, hop)
    for inner in hop.steps:
        yield from _below(side, depth + 1, inner)


def lines(trace: Trace) -> Iterator[str]:
    """Yield the tree as text."""
    side = ""
    for row in rows(trace):
        if row.side != side and row.side != "here":
            yield "came from:" if row.side == "up" else "led to:"
        side = row.side
        yield f"● {named(row.hop)}" if side == "here" else f"{'   ' * row.depth}{row.hop.link}  {named(row.hop)}"
        if row.hop.more:
            yield f"{'   ' * (row.depth + 1)}… and {row.hop.more} more"
    tokens, usd = trace.spent
    if tokens or usd:
        yield f"together {tokens:,} tokens, ${usd:.3f}"


def named(hop: Hop) -> str:
    """Return one thing in words."""
    if not hop.kind:
        return f"{hop.id}  (no longer there)"
    again = "(shown elsewhere)" if hop.again else ""
    title = f"“{hop.title}”" if hop.title else ""
    by = f"by {hop.by}" if hop.by else ""
    parts = (hop.id, hop.kind, hop.status, by, hop.at[:10], cost(hop), title, again)
    return "  ".join([part for part in parts if part])


def cost(hop: Hop) -> str:
    """Return `12,400 tokens, $0.031`; empty for what cost nothing."""
    digits = 3 if hop.usd >= 0.01 else 5
    parts = [f"{hop.tokens:,} tokens" if hop.tokens else "", f"${hop.usd:.{digits}f}" if hop.usd else ""]
    return ", ".join([part for part in parts if part])


def words(hop: Hop) -> str:
    """Return what a filter looks through."""
    return one_line(f"{hop.link} {hop.kind} {hop.id} {hop.status} {hop.by} {hop.title}")
