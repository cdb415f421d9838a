"""Decay: what nobody touched for long is archived, never deleted; undo and un-archiving bring it back."""

from __future__ import annotations

from contextlib import closing

from lumen_tui.actions import putaway
from lumen_tui.actions.outcome import Done
from lumen_tui.actions.putaway import Leaving
from lumen_tui.model import forecast
from lumen_tui.model.decay import DecayRule
from lumen_tui.storage.store import Store
from lumen_tui.store.memory.age_index import AgeIndex
from lumen_tui.store.settings.config import load_config


def rule_of(store: Store, half_life_days: float = 0.0, threshold: float = 0.0) -> DecayRule:
    """The rule in force, with these numbers in place of its own where they are given."""
    rule = load_config(store.layout)[0].memory.decay.rule
    return forecast.check_rule(half_life_days or rule.half_life_days, threshold or rule.threshold)


def due(index: AgeIndex, rule: DecayRule, at: float) -> list[Leaving]:
    """What decay would archive at that moment, the longest untouched first."""
    rows = index.untouched_since(forecast.due_before(rule, at))
    fates = forecast.forecast(rows, rule, at)
    return [Leaving(one.node_id, one.touched, forecast.reason(one.score, rule), one.score) for one in fates]


def apply(
    store: Store, *, by: str, now: float, half_life_days: float = 0.0, threshold: float = 0.0, force: bool = False
) -> Done:
    """Archive what has faded by `now`. Refuses within an hour of a clock jump unless `force`."""
    rule = rule_of(store, half_life_days, threshold)
    if not force:
        putaway.refuse_after_jump(store, now)
    with closing(AgeIndex(store.layout)) as index:
        return putaway.carry_out(
            store, index.load(), lambda seen: due(seen, rule, now), verb="decay.apply", by=by, now=now
        )
