"""What would be archived when, under any rule and at any moment: decay before it happens. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lumen_tui.model import decay
from lumen_tui.model.decay import DecayRule
from lumen_tui.model.times import DAY


class Aging(NamedTuple):
    """An active, unprotected node; `touched` is what its age counts from, in seconds since 1970."""

    node_id: str
    touched: float


class Fate(NamedTuple):
    """One node under a rule at a moment. `fades_at` is in seconds since 1970."""

    node_id: str
    touched: float
    score: float
    fades_at: float
    due: bool  # would be archived by a decay at that moment


def due_before(rule: DecayRule, at: float) -> float:
    """Return the moment before which a node must have been last touched for decay at `at` to archive it."""
    return at - rule.life_days * DAY


def forecast(rows: Iterable[Aging], rule: DecayRule, at: float) -> list[Fate]:
    """Return the fate of each row, the soonest to be archived first."""
    limit = due_before(rule, at)
    return [
        Fate(node_id, touched, decay.score(at - touched, rule), decay.fades_at(touched, rule), touched < limit)
        for node_id, touched in sorted(rows, key=lambda row: row[1])
    ]


def check_rule(half_life_days: float, threshold: float) -> DecayRule:
    """Return the rule, or a ValueError that says what the numbers may be."""
    if not 0 < half_life_days <= 36_500:
        raise ValueError(f"a half-life of {half_life_days:g} days makes no rule: above 0 and up to 36500")
    if not 0 < threshold < 1:
        raise ValueError(f"a threshold of {threshold:g} makes no rule: between 0 and 1, such as 0.1")
    return DecayRule(half_life_days=half_life_days, threshold=threshold)


def reason(score: float, rule: DecayRule) -> str:
    """Return why decay archives a node, as it stands in the record."""
    return f"Score {score:.4f} below threshold {rule.threshold:g}"
