"""Time travel in the decay pane: another day, another half-life, another threshold, and what they would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lumen_tui.model.decay import DecayForecast, DecayRule, DecayView

HALF_LIVES = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 14.0, 21.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 365.0)
THRESHOLDS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
_FURTHEST = 3650  # days


class Travel(NamedTuple):
    """Where the pane looks from. A number of 0 means: as it is now, as it is in force."""

    days: int = 0
    half_life: float = 0.0
    threshold: float = 0.0

    @property
    def moving(self) -> bool:
        """Whether anything is other than it is."""
        return self != Travel()

    @property
    def other_rule(self) -> bool:
        """Whether another rule than the one in force is tried."""
        return bool(self.half_life or self.threshold)

    def rule(self, known: DecayRule) -> DecayRule:
        """The rule that is looked at, `known` being the one in force."""
        return DecayRule(self.half_life or known.half_life_days, self.threshold or known.threshold)

    def by_days(self, days: int) -> Travel:
        """The clock moved; it does not go behind the present."""
        return self._replace(days=max(0, min(_FURTHEST, self.days + days)))

    def half_life_stepped(self, by: int, known: DecayRule) -> Travel:
        """The next longer (1) or shorter (-1) half-life."""
        here = known.half_life_days
        value = _stepped(HALF_LIVES, self.half_life or here, here, by)
        return self._replace(half_life=0.0 if value == here else value)

    def threshold_stepped(self, by: int, known: DecayRule) -> Travel:
        """The next higher (1) or lower (-1) threshold."""
        here = known.threshold
        value = _stepped(THRESHOLDS, self.threshold or here, here, by)
        return self._replace(threshold=0.0 if value == here else value)

    def words(self, known: DecayRule) -> list[str]:
        """What is other than it is, with the value in force behind it: `as in 12 d`, `half-life 14 d (30)`."""
        said = [f"as in {self.days} d"] if self.days else []
        if self.half_life:
            said.append(f"half-life {self.half_life:g} d ({known.half_life_days:g})")
        if self.threshold:
            said.append(f"threshold {self.threshold:g} ({known.threshold:g})")
        return said


def _stepped(steps: Sequence[float], value: float, known: float, by: int) -> float:
    """The next of the steps, among which the value in force always is; the value itself at either end."""
    ladder = sorted({*steps, known})
    further = [step for step in ladder if (step > value if by > 0 else step < value)]
    return (further[0] if by > 0 else further[-1]) if further else value


class Foresight(NamedTuple):
    """What memory would look like there. `at` is in seconds since 1970."""

    travel: Travel
    at: float
    view: DecayView
    rows: Sequence[DecayForecast]
