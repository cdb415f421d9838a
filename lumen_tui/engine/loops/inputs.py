"""What came in for the main agent since its last loop. Reading it changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from lumen_tui.engine.events import EventLog
from lumen_tui.model import agent
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.loop import EngineEvent
from lumen_tui.model.records import Node, Signal
from lumen_tui.storage import cursor
from lumen_tui.storage.store import Store
from lumen_tui.store.signals.signal_index import decode_signal

_node = msgspec.json.Decoder(Node).decode


@dataclass
class News:
    """What came in since the last loop."""

    ended: list[EngineEvent]
    signals: list[tuple[int, Signal]]  # with the offsets of their lines, oldest first
    discoveries: int
    cursor: dict[str, Any]
    by_workers: dict[str, int] = field(default_factory=dict)  # what they added to memory, as a packet counts it

    def __bool__(self) -> bool:
        return bool(self.ended or self.signals or self.discoveries)

    def without(self, tasks: Container[str]) -> News:
        """Return the same news without signals of these tasks."""
        return replace(self, signals=[(at, signal) for at, signal in self.signals if signal.task_id not in tasks])

    def urgent(self, name: str) -> bool:
        """Return whether there is something for which the agent is woken from its rest."""
        return bool(self.ended) or any(
            signal.priority == "P0" or signal.target_agent == name for _, signal in self.signals
        )


def gather(store: Store, log: EventLog, before: dict[str, Any], name: str) -> News:
    """Return the news after the cursor `before`, without what the agent itself said and did and others' mail."""
    events = log.since(int(before.get("events", 0)))
    signal_lines, signals_at = cursor.lines_after(store.layout.signals, before.get("signals", {}))
    node_lines, nodes_at = cursor.lines_after(store.layout.memory, before.get("memory", {}))
    own = (name, agent.ROLE)
    signals = [(offset, signal) for offset, line in signal_lines if (signal := _signal(line))]
    return News(
        ended=[event for event in events if event.kind == "task_ended" and not agent.loop_of(event.task_id)],
        signals=[(offset, signal) for offset, signal in signals if not signal.read and _concerns(signal, own)],
        discoveries=sum(_is_new_discovery(line, own) for _, line in node_lines),
        by_workers=dict(Counter(kind for _, line in node_lines if (kind := _of_a_worker(line)))),
        cursor={"events": log.seq, "signals": signals_at, "memory": nodes_at},
    )


def _signal(line: bytes) -> Signal | None:
    try:
        return decode_signal(line)
    except (*UNDECODABLE, AttributeError):
        return None


def _concerns(signal: Signal, own: tuple[str, ...]) -> bool:
    return signal.sender not in own and signal.target_agent in ("", *own)


def _is_new_discovery(line: bytes, own: tuple[str, ...]) -> bool:
    """Whether a line of memory.jsonl is the first of an open discovery: later lines carry `updated_at`."""
    if b'"discovery"' not in line or b'"updated_at"' in line or b'"archived"' in line:
        return False
    try:
        return _node(line).created_by not in own
    except UNDECODABLE:
        return False


def _of_a_worker(line: bytes) -> str:
    """What a line of memory.jsonl adds in the name of a worker's task; empty for others' and for a change."""
    if b'"task_id"' not in line or b'"updated_at"' in line or b'"archived"' in line:
        return ""
    try:
        node = _node(line)
    except UNDECODABLE:
        return ""
    if not isinstance(node.metadata.get("task_id"), str):
        return ""
    return "discoveries_added" if node.type == "discovery" else "memory_added"
