"""Where a memory node came from and what became of it, as a tree of frozen steps."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct


class Step(Struct, frozen=True):
    """One thing in the chain. `link` says how it is related to the step above it in the tree."""

    id: str
    kind: str  # discovery, note …, work, task; empty where nothing of this id is left
    title: str
    status: str = ""
    at: str = ""
    by: str = ""
    link: str = ""
    steps: tuple[Step, ...] = ()
    again: bool = False  # shown in full elsewhere in this tree
    more: int = 0  # further ones that were left out


class Provenance(Struct, frozen=True):
    """A node with the chain up (what it came from) and down (what came of it)."""

    node: Step
    up: tuple[Step, ...] = ()
    down: tuple[Step, ...] = ()


def lines(tree: Provenance) -> Iterator[str]:
    """Yield the tree as text: origins above, the node, what became of it below."""
    yield from _branch(tree.up, "came from")
    yield f"● {_named(tree.node)}"
    yield from _branch(tree.down, "led to")


def _branch(steps: tuple[Step, ...], head: str) -> Iterator[str]:
    if not steps:
        return
    yield f"{head}:"
    for step in steps:
        yield from _indented(step, 1)


def _indented(step: Step, depth: int) -> Iterator[str]:
    again = "  (shown above)" if step.again else ""
    yield f"{'   ' * depth}{step.link}  {_named(step)}{again}"
    for inner in step.steps:
        yield from _indented(inner, depth + 1)
    if step.more:
        yield f"{'   ' * (depth + 1)}… and {step.more} more"


def _named(step: Step) -> str:
    if not step.kind:
        return f"{step.id}  (no longer there)"
    parts = [step.id, step.kind, step.status, f"by {step.by}" if step.by else "", step.at[:10], f"“{step.title}”"]
    return "  ".join([part for part in parts if part])
