"""Nodes that become one: discoveries that a person merges, and imported nodes beside the ones that are here.

A person's decision that was made here stays, and so does what is newer. A node was decided on here where a verb changed
it (`updated_by`); imported lines never say that of our people.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from lumen_tui.model import times
from lumen_tui.model.records import PRIORITIES, Node
from lumen_tui.model.text import one_line


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


Raw = dict[str, object]
DECISIONS = (
    "status",
    "archive_reason",
    "archived_at",
    "archived_by",
    "promoted_to",
    "promoted_at",
    "snoozed_until",
    "merged_into",
    "merged_from",
    "pinned",
    "sensitive",
    "deleted_at",
    "deleted_by",
)


class Settled(Struct, frozen=True):
    """`record` is what to append, None for nothing; `told` says what of the import does not take effect, and why."""

    record: Raw | None
    told: str = ""


def settle(ours: Raw, theirs: Raw) -> Settled:
    """Decide what becomes of an imported record beside the newest one of the same id here.

    Newer content is taken over; a decision that was made here stays, whichever is newer.
    """
    newer = _changed(theirs) > _changed(ours)
    if not ours.get("updated_by"):
        return Settled(theirs) if newer or _changed(theirs) == _changed(ours) else Settled(None, _older(ours))
    if not newer:
        return Settled(None, _older(ours))
    decisions = {key: value for key, value in _metadata(ours).items() if key in DECISIONS}
    merged = {**theirs, "metadata": {**_without_decisions(theirs), **decisions}, "updated_by": ours["updated_by"]}
    notice = (
        f"{_name(ours)} is {_state(decisions)} here, and stays so"
        if _state(_metadata(theirs)) != _state(decisions)
        else ""
    )
    return Settled(merged, notice)


def _older(ours: Raw) -> str:
    by = f" by {one_line(str(ours['updated_by']), 40)}" if ours.get("updated_by") else ""
    return f"{_name(ours)} was changed here{by} on {_date(ours)}, after the line in the import: ours is kept"


def _name(record: Raw) -> str:
    return one_line(str(record["id"]), 80)


def _changed(record: Raw) -> float:
    """Return when it was last changed, in seconds since 1970; 0 where no date can be read."""
    return max(times.epoch(str(record.get(key) or "")) for key in ("updated_at", "created_at"))


def _date(record: Raw) -> str:
    return times.iso(_changed(record))[:10]


def _metadata(record: Raw) -> Raw:
    metadata = record.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _without_decisions(record: Raw) -> Raw:
    return {key: value for key, value in _metadata(record).items() if key not in DECISIONS}


def _state(metadata: Raw) -> str:
    return str(metadata.get("status") or "open")
