"""Packets in words: one line for a list, sections for the whole, and how long loops take to find their bearings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median

from lumen_tui.model import times
from lumen_tui.model.loop import LeftOut, Orientation, Packet

Section = tuple[str, tuple[str, ...]]
_BLOCKS = "▁▂▃▄▅▆▇█"
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
    """`ok`, `degraded` or `failed`."""
    return "failed" if packet.failed else packet.health.status


def outcome(packet: Packet) -> str:
    """What came of a loop, on one line."""
    if packet.failed:
        return packet.failed
    parts = [f"made {', '.join(one.title or one.path for one in packet.made)}"] if packet.made else []
    for count, word in ((len(packet.ordered), "ordered"), (len(packet.done), "done"), (len(packet.decided), "decided")):
        parts += [f"{count} {word}"] if count else []
    if left := len(packet.abandoned) + len(packet.decided_against):
        parts.append(f"{left} left out")
    return ", ".join(parts or changes(packet)) or "changed nothing"


def changes(packet: Packet, *, but: tuple[str, ...] = ()) -> list[str]:
    """`2 tasks done`, `1 signal read`."""
    found = ((name, count) for name, count in packet.changed.items() if count and name not in but)
    return [f"{count} {_CHANGES.get(name, (name.replace('_', ' '),) * 2)[count != 1]}" for name, count in found]


def bound_by(packet: Packet) -> tuple[str, ...]:
    """What binds the next loop: what the agent noted, then what the engine knew, each once."""
    return tuple(dict.fromkeys((*packet.constraints, *packet.in_force)))


def sections(packet: Packet) -> Iterator[Section]:
    """The whole packet; what was left out has its own places. Empty sections are left away."""
    found = (
        ("Came in", packet.came_in), ("Done", packet.done), ("Ordered", packet.ordered),
        ("Decided", packet.decided),
        ("Made", tuple(": ".join(part for part in (one.title, one.path) if part) for one in packet.made)),
        ("Abandoned", _left_out(packet.abandoned)), ("Decided against", _left_out(packet.decided_against)),
        ("Changed", tuple(changes(packet))), ("Constraints", bound_by(packet)), ("Next", packet.next),
        ("Spent", _spent(packet)), ("Orientation", _oriented(packet.orientation)),
        ("Its briefing had no room for", packet.cut),
    )  # fmt: skip
    yield f"Loop {packet.loop}", tuple(_head(packet))
    yield from ((title, lines) for title, lines in found if lines)


def _head(packet: Packet) -> Iterator[str]:
    if packet.completed_at:
        yield f"{packet.started_at[:19].replace('T', ' ')} to {packet.completed_at[11:19]} UTC, by {packet.brain}"
    yield f"health {state(packet)}{f': {packet.health.note}' if packet.health.note else ''}"
    if packet.failed:
        yield f"its session failed: {packet.failed}"


def _left_out(items: tuple[LeftOut, ...]) -> tuple[str, ...]:
    return tuple(f"{one.what}: {one.why or 'no reason was given'}" for one in items)


def _spent(packet: Packet) -> tuple[str, ...]:
    usage = packet.usage
    if not usage.tokens and not packet.seconds:
        return ()
    return (f"{usage.tokens:,} tokens, ${usage.usd:.4f}, {times.span(packet.seconds)}",)


def _oriented(found: Orientation) -> tuple[str, ...]:
    if not found.seconds and not found.size:
        return ()
    until = f"until {found.first}" if found.first else "and no call that acts"
    read = f"{found.size:,} bytes (about {found.tokens:,} tokens) in {found.reads} reads"
    return (f"{times.span(found.seconds)} {until}", read, f"{found.spent:,} tokens spent, ${found.usd:.4f}")


def orientation_median(packets: Iterable[Packet]) -> float:
    """Seconds; 0 where none was measured."""
    found = [one.orientation.seconds for one in packets if one.orientation.first]
    return median(found) if found else 0.0


def orientation_summary(packets: Iterable[Packet]) -> str:
    """`orientation: median 12 s, 9,100 tokens, $0.02 over 14 loops`."""
    found = [one.orientation for one in packets if one.orientation.first]
    if not found:
        return "orientation: not measured in these loops (it is where a model is asked)"
    return (
        f"orientation: median {times.span(median(one.seconds for one in found))}, "
        f"{int(median(one.tokens for one in found)):,} tokens read, ${median(one.usd for one in found):.4f} "
        f"over {len(found)} loop{'' if len(found) == 1 else 's'}"
    )


def sparkline(values: Iterable[float], levels: str = _BLOCKS) -> str:
    """One block for each value, in shares of the largest."""
    found = list(values)
    most = max(found, default=0.0)
    if most <= 0:
        return levels[0] * len(found)
    return "".join(levels[min(len(levels) - 1, int(value / most * len(levels)))] for value in found)
