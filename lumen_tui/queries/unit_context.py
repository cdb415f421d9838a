"""What is known of a work unit, for the worker of a task on it: what it is, where it is, what was said about it."""

from __future__ import annotations

from collections.abc import Iterator

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.fences import fence, order
from lumen_tui.model.records import Signal, decode_signal
from lumen_tui.model.secrets.redaction import redact
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.views import NodeView, UnitView
from lumen_tui.queries.trail import CHECKPOINT, DECISION, DISCOVERY, Trail
from lumen_tui.storage import backwards, files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.work import views

_BODY, _ENTRY = 4_000, 600  # characters of the description, and of an entry
_MOST = 8  # entries of one kind
_TAIL = 1024 * 1024  # bytes of the newest signals that are looked through


def unit_context(layout: Layout, wu_id: str, now: float) -> str:
    """Return the unit as a task's message has it: orders of the operator about it, the rest as data; "" without one."""
    if not wu_id:
        return ""
    try:
        unit = views.read_unit(layout.root, wu_id)
    except (files.StoreError, OSError, ValueError) as error:
        return f"{wu_id} cannot be read: {one_line(str(error), 200)}"
    if unit is None:
        return f"There is no {wu_id} any more."
    sent = _signals(layout, wu_id)
    orders = [order(signal.message, signal.sender, _about(signal, now)) for signal in sent if signal.order]
    parts = [fence("\n".join(_described(unit)), f"work unit {wu_id}"), *_trail(layout, wu_id, now), *orders]
    if others := [signal for signal in sent if not signal.order]:
        lines = [
            f"- {_about(signal, now)}, from {signal.sender}: {one_line(signal.message, _ENTRY)}" for signal in others
        ]
        parts.append(fence("\n".join(lines), f"signals about {wu_id}"))
    return "\n\n".join(parts)


def known_of(layout: Layout, wu_id: str, now: float) -> str:
    """Return the same for a tool to return, where nothing is an order; "" without a unit."""
    unit = views.read_unit(layout.root, wu_id)
    if unit is None:
        return ""
    lines = [
        f"- {_about(signal, now)}, from {signal.sender}: {one_line(signal.message, _ENTRY)}"
        for signal in _signals(layout, wu_id)
    ]
    signals = [fence("\n".join(lines), f"signals about {wu_id}")] if lines else []
    return "\n\n".join(["\n".join(_described(unit)), *_trail(layout, wu_id, now), *signals])


def _described(unit: UnitView) -> Iterator[str]:
    """Yield what its file says, which a person may have written by hand: with secrets masked."""
    yield f"{unit.id}: {one_line(redact(unit.title), 200)} ({unit.status}, {unit.priority}, lane {unit.lane or 'none'})"
    if unit.acceptance:
        yield "It is accepted when:"
        yield from (f"- {one_line(redact(text), _ENTRY)}" for text in unit.acceptance)
    if unit.blocked_reason:
        yield f"Blocked: {one_line(redact(unit.blocked_reason), _ENTRY)}"
    if body := redact(safe(unit.body)).strip():
        yield body if len(body) <= _BODY else f"{body[:_BODY]} … (the rest: read_file work/{unit.id}.md)"


def _trail(layout: Layout, wu_id: str, now: float) -> Iterator[str]:
    with Trail(layout) as trail:
        sections = {
            "last checkpoint": trail.newest(wu_id, (CHECKPOINT,), 1),
            "decisions": trail.newest(wu_id, (DECISION,), _MOST, any_state=True),
            "open discoveries": trail.ready(wu_id, (DISCOVERY,), _MOST),
        }
    for name, nodes in sections.items():
        if nodes:
            yield fence("\n".join(_node(node, now) for node in nodes), f"{name} of {wu_id}")


def _node(node: NodeView, now: float) -> str:
    steps = node.metadata.get("nextSteps")
    after = f" Next: {one_line(steps, _ENTRY)}" if isinstance(steps, str) and steps else ""
    at = times.stamp(times.epoch(node.created_at, now))
    return f"- {node.id}, {at}, by {one_line(node.created_by, 60)}: {one_line(node.content, _ENTRY)}{after}"


def _signals(layout: Layout, wu_id: str) -> list[Signal]:
    """Return the newest signals about a unit, oldest first."""
    mark, signals = wu_id.encode(), []
    for line in backwards.read_tail(layout.signals, _TAIL).splitlines():
        if mark in line:
            try:
                signals.append(decode_signal(line))
            except UNDECODABLE:
                continue  # the torn end of the journal
    return [signal for signal in signals if signal.wu_id == wu_id][-_MOST:]


def _about(signal: Signal, now: float) -> str:
    return f"{signal.id}, {times.stamp(times.epoch(signal.created_at, now))}"
