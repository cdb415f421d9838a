"""Progress signals that are due at a verb on a work unit, told in its answer; the room lists them until they come."""

from __future__ import annotations

from lumen_tui.model import progresswords, times
from lumen_tui.model.handoff import Tracked
from lumen_tui.storage.store import Store
from lumen_tui.store.sessions.hook_events import SignalTimes
from lumen_tui.store.settings.config import load_config


def before_done(store: Store, unit: Tracked) -> str:
    """What is missing where a work unit is about to be finished without a word since it was claimed."""
    rule = load_config(store.layout)[0].memory.progress_signals
    if not rule.enabled or not rule.before_gates:
        return ""
    signals = SignalTimes(store.layout)
    signals.refresh()
    newest = signals.newest.get(unit.id, 0.0)
    return "" if newest and newest >= times.epoch(unit.claimed_at) else _due(unit.id, progresswords.DONE)


def at_block(store: Store, wu_id: str) -> str:
    """What is due now that a work unit is blocked."""
    rule = load_config(store.layout)[0].memory.progress_signals
    return _due(wu_id, progresswords.BLOCKED) if rule.enabled and rule.on_blocked else ""


def _due(wu_id: str, what: str) -> str:
    return f"{wu_id} {what}: {progresswords.what_to_do(wu_id)}"
