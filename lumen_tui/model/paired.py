"""Statistics of paired trials: the same cases under a champion and a challenger, where only cases that differ tell.

A fix is a case that the challenger alone passes, a regression one that the champion alone passes. The number of cases
is fixed before the first one is looked at; where the same two are compared again, on more cases, `alpha_of` says how
much of the error is left for that look.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import comb, sqrt

ALPHA = 0.05  # of promoting a challenger that is no better, over all looks at it
_FIRST_LOOK = 0.045  # of ALPHA; each later look has half of what is left then
_Z = 1.959963984540054  # of a two-sided interval of 95 %
_GRID = 400  # values of the nuisance parameter that are tried before the best one is refined
_HALVINGS = 60  # of an interval: down to the last bit of a float


def alpha_of(look: int) -> float:
    """Return the error that look number `look` (from 1) may spend; those of all looks add up to ALPHA at most."""
    return _FIRST_LOOK if look <= 1 else (ALPHA - _FIRST_LOOK) / 2 ** (look - 1)


@functools.lru_cache(maxsize=4096)
def exact_p(fixes: int, regressions: int, pairs: int) -> float:
    """Return the one-sided p-value of McNemar's test, exact and unconditional, for `pairs` cases.

    The largest chance of a result at least as good where fixes and regressions are equally likely, whatever share of
    cases differs (S. Suissa and J. J. Shuster, The 2 x 2 matched-pairs trial, Biometrics 47, 1991). Never over its
    nominal size, and stronger on few cases than the binomial test that takes the number of differing cases as given.
    """
    if not 0 <= fixes + regressions <= pairs or fixes < 0 or regressions < 0:
        raise ValueError(f"{fixes} fixes and {regressions} regressions of {pairs} cases")
    if fixes <= regressions:
        return 1.0
    reached = (fixes - regressions) / sqrt(fixes + regressions)
    tails = [_tail(differing, reached) for differing in range(pairs + 1)]

    def chance(share: float) -> float:
        return sum(_exactly(differing, pairs, share) * tail for differing, tail in enumerate(tails) if tail)

    best = max(range(1, _GRID), key=lambda step: chance(step / _GRID)) / _GRID
    return min(1.0, _highest(chance, best - 1 / _GRID, best + 1 / _GRID))


def _tail(differing: int, reached: float) -> float:
    """Return the chance that a fair coin, thrown `differing` times, gives a statistic of at least `reached`."""
    needed = (differing + reached * sqrt(differing)) / 2 - 1e-9
    return sum(_exactly(heads, differing, 0.5) for heads in range(differing + 1) if differing and heads >= needed)


def _highest(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the highest value between two places, of a function with one peak there."""
    for _ in range(_HALVINGS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if function(left) < function(right):
            low = left
        else:
            high = right
    return function((low + high) / 2)


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """Return the interval of 95 % for a share (E. B. Wilson, 1927), for display; (0, 1) without trials."""
    if not trials:
        return 0.0, 1.0
    share, weight = hits / trials, _Z * _Z / trials
    middle = (share + weight / 2) / (1 + weight)
    half = _Z * sqrt(share * (1 - share) / trials + weight / (4 * trials)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def exact_interval(hits: int, trials: int) -> tuple[float, float]:
    """Return the exact interval of 95 % for a share (C. J. Clopper and E. S. Pearson, 1934); (0, 1) without trials."""
    if not trials:
        return 0.0, 1.0
    low = _where(lambda share: _at_least(hits, trials, share) > 0.025) if hits else 0.0
    high = _where(lambda share: 1 - _at_least(hits + 1, trials, share) < 0.025) if hits < trials else 1.0
    return low, high


def _at_least(hits: int, trials: int, share: float) -> float:
    """Return the chance of `hits` or more of `trials`."""
    return sum(_exactly(count, trials, share) for count in range(hits, trials + 1))


def _exactly(count: int, trials: int, share: float) -> float:
    chance: float = comb(trials, count) * share**count * (1 - share) ** (trials - count)
    return chance


def _where(is_over: Callable[[float], bool]) -> float:
    """Return the place between 0 and 1 from which on `is_over` holds."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_over(middle) else (middle, high)
    return high


def shares_interval(a_hits: int, a_trials: int, b_hits: int, b_trials: int) -> tuple[float, float]:
    """Return the interval of 95 % for how much higher the second of two independent shares is; (-1, 1) without trials.

    The hybrid score interval (R. G. Newcombe, Stat. Med. 17, 1998, method 10).
    """
    if not a_trials or not b_trials:
        return -1.0, 1.0
    a, b = a_hits / a_trials, b_hits / b_trials
    (a_low, a_high), (b_low, b_high) = wilson(a_hits, a_trials), wilson(b_hits, b_trials)
    return b - a - sqrt((b - b_low) ** 2 + (a_high - a) ** 2), b - a + sqrt((b_high - b) ** 2 + (a - a_low) ** 2)


def difference_interval(fixes: int, regressions: int, pairs: int) -> tuple[float, float]:
    """Return the interval of 95 % for the difference of two paired shares; (-1, 1) without pairs.

    The adjusted interval of D. G. Bonett and R. M. Price (J. Educ. Behav. Stat. 37, 2012): right for few cases, too.
    """
    if not pairs:
        return -1.0, 1.0
    gained, lost = (fixes + 1) / (pairs + 2), (regressions + 1) / (pairs + 2)
    half = _Z * sqrt((gained + lost - (gained - lost) ** 2) / (pairs + 2))
    return max(-1.0, gained - lost - half), min(1.0, gained - lost + half)
