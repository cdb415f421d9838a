"""Two discoveries that are one: what the one that stays takes over from the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from lumen_tui.model.records import PRIORITIES, Node


class Merged(Struct, frozen=True):
    """The one that stays, as it is afterwards."""

    priority: str = ""  # the highest of all
    wu_id: str = ""  # its own, else the first one of the others
    units: tuple[str, ...] = ()  # further work units, to which it is related from then on
    tags: tuple[str, ...] = ()


def merged(survivor: Node, others: Sequence[Node]) -> Merged:
    """Return what comes together when `others` are merged into `kept`."""
    everything = (survivor, *others)
    units = _each(node.wu_id for node in everything)
    return Merged(
        priority=min((node.priority for node in everything if node.priority), key=PRIORITIES.index, default=""),
        wu_id=units[0] if units else "",
        units=units[1:],
        tags=_each(tag for node in everything for tag in node.tags),
    )


def first_to_stay(nodes: Sequence[Node]) -> Node:
    """Return which of several is offered to stay: the highest priority, then the oldest."""
    worst = len(PRIORITIES)
    return min(nodes, key=lambda node: (PRIORITIES.index(node.priority) if node.priority else worst, node.created_at))


def _each(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))
