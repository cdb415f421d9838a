"""What open discoveries are and have behind them: how long they were left, whether they were snoozed."""

from __future__ import annotations

from lumen_tui.model import times
from lumen_tui.model.kinds import DISCOVERY_ALIASES
from lumen_tui.model.records import Node
from lumen_tui.model.times import DAY

OLD = 30 * DAY  # seconds after which a discovery that nobody touched is told apart


def snoozed_until(node: Node) -> float:
    """Return when it comes back, or came back; 0 where it was never snoozed."""
    until = node.metadata.get("snoozed_until")
    return times.epoch(until) if isinstance(until, str) else 0.0


def is_old(node: Node, now: float) -> bool:
    """Return whether nobody has touched it for long. What was snoozed was left on purpose."""
    return not snoozed_until(node) and 0 < _touched(node) <= now - OLD


def returned(node: Node, now: float) -> str:
    """Return `back after 7 d` or `open for 30 d`; empty for a discovery that is seen for the first time."""
    until = snoozed_until(node)
    if 0 < until <= now:
        days = round((until - _touched(node)) / DAY)
        return f"back after {days} d" if days > 0 else "back from snooze"
    return f"open for {(now - node.created) // DAY:.0f} d" if is_old(node, now) and node.created else ""


def _touched(node: Node) -> float:
    return times.epoch(node.updated_at) or node.created


def kind_of(node: Node) -> str:
    """`bug`, `idea`, `question`, `dependency`, by its type or by a tag; or just `discovery`."""
    kind = node.metadata.get("type") or node.metadata.get("kind")
    tagged = next((tag for tag in node.tags if tag in DISCOVERY_ALIASES), node.type)
    return kind if isinstance(kind, str) and kind else tagged


def kind_words(node: Node) -> list[str]:
    """Return what sort of discovery it is, and its other tags."""
    kind = kind_of(node)
    return [kind, *(tag for tag in node.tags if tag != kind)]
