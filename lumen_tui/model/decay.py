"""Half-life decay: `score = 2 ** (-age_days / half_life_days)`, age counted from the last touch.

With a half-life of 30 days and a threshold of 0.1 an untouched node is archived at
30 * log2(10) = 99.66 days. Archiving is a separate, reversible step; nothing here deletes.
"""

from __future__ import annotations

import math

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
        pinned, sensitive, lifecycle == "project" and node_type != "summary", node_type == "summary",
        node_type == "discovery" and status == "open", node_type == "session" and active,
    )  # fmt: skip
    return PROTECTIONS[holds.index(True)] if True in holds else ""
