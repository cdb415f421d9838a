"""Exact tests and intervals for paired trials, against values that were worked out by other means."""

from __future__ import annotations

import random
from itertools import product
from math import comb

import pytest

from lumen_tui.model import paired
from lumen_tui.model.paired import ALPHA, alpha_of, difference_interval, exact_interval, exact_p, wilson


def enumerated_p(fixes: int, regressions: int, pairs: int, share: float) -> float:
    """The same chance for one value of the nuisance parameter, by naming every outcome."""
    reached = (fixes - regressions) ** 2 / (fixes + regressions)
    total = 0.0
    for more, fewer in product(range(pairs + 1), repeat=2):
        differing = more + fewer
        if differing > pairs or more <= fewer or (more - fewer) ** 2 / differing < reached - 1e-9:
            continue
        ways = comb(pairs, differing) * comb(differing, more)
        total += ways * (share / 2) ** differing * (1 - share) ** (pairs - differing)
    return total


@pytest.mark.parametrize(("fixes", "regressions", "pairs"), [(6, 0, 40), (6, 1, 40), (8, 1, 40), (5, 2, 12), (3, 0, 9)])
def test_the_p_value_is_the_largest_over_the_nuisance_parameter(fixes: int, regressions: int, pairs: int) -> None:
    p = exact_p(fixes, regressions, pairs)
    every = [enumerated_p(fixes, regressions, pairs, share / 200) for share in range(1, 201)]
    assert max(every) <= p + 1e-9
    assert p == pytest.approx(max(every), abs=5e-4)


def test_the_test_keeps_its_size_whatever_share_of_cases_differs() -> None:
    for share in (0.05, 0.1, 0.2, 0.4, 0.7, 1.0):
        size = sum(
            comb(40, differing) * comb(differing, fixes) * (share / 2) ** differing * (1 - share) ** (40 - differing)
            for differing in range(41)
            for fixes in range(differing + 1)
            if exact_p(fixes, differing - fixes, 40) < ALPHA
        )
        assert size <= ALPHA, share


def test_what_is_no_better_has_no_p_value_below_one() -> None:
    assert exact_p(3, 3, 40) == exact_p(0, 0, 40) == exact_p(2, 5, 40) == 1.0
    for wrong in ((-1, 0, 4), (3, 2, 4), (0, -1, 4)):
        with pytest.raises(ValueError, match="of 4 cases"):
            exact_p(*wrong)


def test_more_fixes_are_never_worth_less() -> None:
    for pairs in (12, 20, 40):
        values = [exact_p(fixes, 1, pairs) for fixes in range(2, pairs)]
        assert values == sorted(values, reverse=True)


def test_all_looks_together_spend_no_more_than_the_error() -> None:
    assert sum(alpha_of(look) for look in range(1, 200)) <= ALPHA
    assert alpha_of(1) > alpha_of(2) > alpha_of(3) > 0


def test_intervals_are_those_of_the_tables() -> None:
    assert exact_interval(0, 50) == pytest.approx((0.0, 0.0711), abs=1e-4)
    assert exact_interval(27, 30) == pytest.approx((0.7347, 0.9789), abs=1e-4)
    assert exact_interval(50, 50) == pytest.approx((0.9289, 1.0), abs=1e-4)
    assert wilson(27, 30) == pytest.approx((0.7438, 0.9654), abs=1e-4)
    assert exact_interval(0, 0) == wilson(0, 0) == (0.0, 1.0)
    assert difference_interval(0, 0, 0) == (-1.0, 1.0)


def test_the_interval_of_a_difference_holds_the_true_one_as_often_as_it_says() -> None:
    chance = random.Random(90_210)  # noqa: S311 - a simulation
    held = 0
    for _ in range(2_000):
        draws = chance.choices((1, -1, 0), weights=(0.25, 0.05, 0.7), k=40)
        low, high = difference_interval(draws.count(1), draws.count(-1), 40)
        held += low <= 0.2 <= high
    assert 0.93 <= held / 2_000 <= 0.98


def test_the_module_asks_no_clock_and_no_chance() -> None:
    assert not {"random", "time", "os"} & vars(paired).keys()
