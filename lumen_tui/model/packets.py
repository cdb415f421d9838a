"""Packets in words: one line for a list, sections for the whole, and how long loops take to find their bearings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lumen_tui.model import times
from lumen_tui.model.loop import LeftOut, Orientation, Packet

Section = tuple[str, tuple[str, ...]]
_CHANGES = {
    "tasks_done": ("task done", "tasks done"), "tasks_failed": ("task failed", "tasks failed"),
    "tasks_created": ("task ordered", "tasks ordered"), "signals_read": ("signal read", "signals read"),
    "signals_sent": ("signal sent", "signals sent"), "discoveries_added": ("discovery added", "discoveries added"),
    "discoveries_read": ("discovery seen", "discoveries seen"),
    "memory_added": ("memory added", "memories added"), "proposals": ("proposal", "proposals"),
    "artifacts": ("artifact", "artifacts"), "decisions": ("decision", "decisions"),
    "defects_fixed": ("defect fixed", "defects fixed"),
}  # fmt: skip


def state(packet: Packet) -> str:
    """Return the outcome of a loop: `ok`, `degraded` or `failed`."""
    return "failed" if packet.failed else packet.health.status


def outcome(packet: Packet) -> str:
    """Return what came of a loop, on one line."""
    if packet.failed:
        return packet.failed
    parts = [f"made {', '.join(artifact.title or artifact.path for artifact in packet.made)}"] if packet.made else []
    for count, word in ((len(packet.ordered), "ordered"), (len(packet.done), "done"), (len(packet.decided), "decided")):
        parts += [f"{count} {word}"] if count else []
    if omitted := len(packet.abandoned) + len(packet.decided_against):
        parts.append(f"{omitted} left out")
    return ", ".join(parts or changes(packet)) or "changed nothing"


def changes(packet: Packet, *, but: tuple[str, ...] = ()) -> list[str]:
    """Return what changed, such as `2 tasks done` and `1 signal read`, without the kinds in `but`."""
    counts = ((name, count) for name, count in packet.changed.items() if count and name not in but)
    return [f"{count} {_CHANGES.get(name, (name.replace('_', ' '),) * 2)[count != 1]}" for name, count in counts]


def bound_by(packet: Packet) -> tuple[str, ...]:
    """Return what binds the next loop: what the agent noted, then what the engine knew, each once."""
    return tuple(dict.fromkeys((*packet.constraints, *packet.in_force)))


def sections(packet: Packet) -> Iterator[Section]:
    """Yield the whole packet; what was left out has its own places. Empty sections are left away."""
    candidates = (
        ("Came in", packet.came_in),
        ("Done", packet.done),
        ("Ordered", packet.ordered),
        ("Decided", packet.decided),
        ("Made", tuple(": ".join(filter(None, (artifact.title, artifact.path))) for artifact in packet.made)),
        ("Abandoned", _left_out(packet.abandoned)),
        ("Decided against", _left_out(packet.decided_against)),
        ("Changed", tuple(changes(packet))),
        ("Constraints", bound_by(packet)),
        ("Next", packet.next),
        ("Spent", _spent(packet)),
        ("Orientation", _oriented(packet.orientation)),
        ("Its briefing had no room for", packet.cut),
    )
    yield f"Loop {packet.loop}", tuple(_head(packet))
    yield from ((title, lines) for title, lines in candidates if lines)


def _head(packet: Packet) -> Iterator[str]:
    if packet.completed_at:
        yield f"{packet.started_at[:19].replace('T', ' ')} to {packet.completed_at[11:19]} UTC, by {packet.brain}"
    if packet.tier:
        yield f"it began on {packet.tier}: {packet.tier_why}"
    elif packet.tier_why:
        yield f"it began on the role's own tier: {packet.tier_why}"
    if packet.escalated:
        yield f"it went on with the role's own tier: {packet.escalated}"
    yield f"health {state(packet)}{f': {packet.health.note}' if packet.health.note else ''}"
    if packet.failed:
        yield f"its session failed: {packet.failed}"


def _left_out(items: tuple[LeftOut, ...]) -> tuple[str, ...]:
    return tuple(f"{item.what}: {item.why or 'no reason was given'}" for item in items)


def _spent(packet: Packet) -> tuple[str, ...]:
    usage = packet.usage
    if not usage.tokens and not packet.seconds:
        return ()
    return (f"{usage.tokens:,} tokens, ${usage.usd:.4f}, {times.span(packet.seconds)}",)


def _oriented(orientation: Orientation) -> tuple[str, ...]:
    if not orientation.seconds and not orientation.size:
        return ()
    until = f"until {orientation.first}" if orientation.first else "and no call that acts"
    read = f"{orientation.size:,} bytes (about {orientation.tokens:,} tokens) in {orientation.reads} reads"
    return (
        f"{times.span(orientation.seconds)} {until}",
        read,
        f"{orientation.spent:,} tokens spent, ${orientation.usd:.4f}",
    )


def median(values: Iterable[float]) -> float:
    """As `statistics` has it, whose import costs more than reading a folder's packets."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def orientation_median(packets: Iterable[Packet]) -> float:
    """Return the median orientation in seconds; 0 where none was measured."""
    seconds = [packet.orientation.seconds for packet in packets if packet.orientation.first]
    return median(seconds) if seconds else 0.0


def orientation_summary(packets: Iterable[Packet]) -> str:
    """Return `orientation: median 12 s, 9,100 tokens, $0.02 over 14 loops`."""
    measured = [packet.orientation for packet in packets if packet.orientation.first]
    if not measured:
        return "orientation: not measured in these loops (it is where a model is asked)"
    seconds = median(orientation.seconds for orientation in measured)
    tokens = median(orientation.tokens for orientation in measured)
    usd = median(orientation.usd for orientation in measured)
    return (
        f"orientation: median {times.span(seconds)}, {int(tokens):,} tokens read, ${usd:.4f} "
        f"over {len(measured)} loop{'' if len(measured) == 1 else 's'}"
    )


def sparkline(values: Iterable[float], levels: str = "▁▂▃▄▅▆▇█") -> str:
    """Return one block for each value, in shares of the largest."""
    numbers = list(values)
    most = max(numbers, default=0.0)
    if most <= 0:
        return levels[0] * len(numbers)
    return "".join(levels[min(len(levels) - 1, int(value / most * len(levels)))] for value in numbers)
