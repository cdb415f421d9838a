"""Half-life decay: `score = 2 ** (-age_days / half_life_days)`, age counted from the last touch; and its forecast.

With a half-life of 30 days and a threshold of 0.1 an untouched node is archived at
30 * log2(10) = 99.66 days. Archiving is a separate, reversible step; nothing here deletes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from lumen_tui.model.times import DAY

BINS = 12  # of the histogram; scores from 1 down to the threshold
# Why decay leaves a node alone; the first that holds is named.
PROTECTIONS = ("pinned", "sensitive", "project", "summary", "open discovery", "active session")


class DecayRule(Struct, frozen=True):
    """The two numbers an operator turns."""

    half_life_days: float = 30.0
    threshold: float = 0.1

    @property
    def life_days(self) -> float:
        """Days without a touch until the score falls to the threshold."""
        return self.half_life_days * math.log2(1 / self.threshold)


class DecayForecast(Struct, frozen=True):
    """One node on its way out. `fades_at` is in seconds since 1970."""

    node_id: str
    title: str
    score: float
    fades_at: float
    touched: float
    kind: str = ""  # the type of the node
    wu_id: str = ""


class DecayView(Struct, frozen=True):
    """What the decay pane shows. Counts are of active (not archived) nodes."""

    rule: DecayRule
    active: int = 0
    protected: int = 0
    pinned: int = 0
    archived: int = 0
    due: int = 0  # below the threshold now
    within_week: int = 0  # will fall below it within 7 days
    histogram: tuple[int, ...] = (0,) * BINS
    kept: tuple[int, ...] = (0,) * len(PROTECTIONS)  # protected nodes by reason, in the order of PROTECTIONS


def score(age_seconds: float, rule: DecayRule) -> float:
    """Return the score of something last touched `age_seconds` ago; a negative age (clock moved) counts as 0."""
    age_days = max(0.0, age_seconds) / DAY
    return float(2.0 ** (-age_days / rule.half_life_days))


def fades_at(touched: float, rule: DecayRule) -> float:
    """Return the moment at which a node touched at `touched` reaches the threshold (seconds since 1970)."""
    return touched + rule.life_days * DAY


def protection(*, node_type: str, lifecycle: str, status: str, pinned: bool, sensitive: bool, active: bool) -> str:
    """Return which of the PROTECTIONS keeps a node from decay; the empty string where none does."""
    holds = (
        pinned,
        sensitive,
        lifecycle == "project" and node_type != "summary",
        node_type == "summary",
        node_type == "discovery" and status == "open",
        node_type == "session" and active,
    )
    return PROTECTIONS[holds.index(True)] if True in holds else ""


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
        Fate(node_id, touched, score(at - touched, rule), fades_at(touched, rule), touched < limit)
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
    """Return why decay archives a node, as it is in the record."""
    return f"Score {score:.4f} below threshold {rule.threshold:g}"
