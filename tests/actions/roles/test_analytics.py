"""The figures of roles: intervals, quantiles, trends, and when a role should go."""

from __future__ import annotations

import pytest
from lumen_rows import each_row

from lumen_tui.model.analytics import (
    LEAST,
    Sample,
    Tally,
    quantile,
    recent,
    retirements,
    shares,
    spark,
    task_statistics,
    wilson,
)
from lumen_tui.model.times import DAY

NOW = 1_800_000_000.0


def sample(role: str = "researcher", status: str = "done", days: float = 0.0, **fields) -> Sample:
    return Sample(role, fields.pop("model", "offline"), status, NOW - days * DAY, **fields)


@each_row(
    ("done", "tried", "low", "high"),
    [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (90, 100, 0.8256, 0.9448)],
)
def test_the_interval_is_wilsons(done, tried, low, high):
    found = wilson(done, tried)
    assert found == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_quantiles_are_numbers_that_are_there():
    assert quantile([], 0.95) == 0.0
    assert quantile([7.0], 0.5) == 7.0
    assert quantile(range(1, 101), 0.5) == 50
    assert quantile(range(1, 101), 0.95) == 95
    assert quantile([3, 1, 2], 1.0) == 3


def test_what_a_person_cancelled_says_nothing_of_success():
    found = task_statistics(
        [sample(), sample(status="failed"), sample(status="lost"), sample(status="cancelled")], NOW
    ).roles[0]
    assert (found.tasks, found.done, found.failed, found.cancelled) == (4, 1, 2, 1)
    assert found.rate == pytest.approx(1 / 3)


def test_durations_money_retries_and_the_last_use():
    samples = [sample(seconds=float(n), usd=n / 100, tokens=n, days=n) for n in range(1, 21)]
    samples += [sample(seconds=5.0, attempts=3, retry=True, days=30)]
    found = task_statistics(samples, NOW).roles[0]
    assert (found.median, found.p95) == (10.0, 19.0)
    assert (found.usd_median, found.usd_p95) == (pytest.approx(0.1), pytest.approx(0.19))
    assert found.usd == pytest.approx(2.1)
    assert (found.tokens, found.retries) == (210, 3)
    assert found.last_used == NOW - DAY


def test_the_trend_has_a_mark_for_each_week_and_the_latest_tasks():
    samples = [sample(days=1), sample(days=2, status="failed"), sample(days=8), sample(days=500)]
    found = task_statistics(samples, NOW).roles[0]
    assert (found.weeks[-1], found.weeks[-2], found.weeks[-3]) == (Tally(1, 2), Tally(1, 1), Tally())
    assert sum(week.tried for week in found.weeks) == 3
    assert found.latest == (True, True, False, True)
    assert spark(found.weeks[-3:], "abc") == " cb"
    assert recent(found.latest, "+", "x") == "++x+"


def test_models_have_figures_of_their_own():
    found = task_statistics([sample(model="a"), sample(model="b", status="failed"), sample("builder", model="a")], NOW)
    assert [(one.name, one.tasks) for one in found.roles] == [("builder", 1), ("researcher", 2)]
    assert [(one.name, one.done, one.failed) for one in found.models] == [("a", 2, 0), ("b", 0, 1)]


def test_a_role_wholly_below_the_others_is_proposed_with_its_evidence():
    (one,) = retirements({"bad": (Tally(5, 30), 3.0), "good": (Tally(95, 100), 1.0)})
    assert (one.role, one.own, one.fleet) == ("bad", Tally(5, 30), Tally(95, 100))
    assert one.text == (
        "role bad does worse than the others: 5 of 30 (95 % CI 7–34 %) done, they 95 of 100 (95 % CI 89–98 %), "
        "$0.100 a task against $0.010; retire it?"
    )
    assert one.target == "retire-bad-1"


@each_row(
    "tallies",
    [
        {"bad": (Tally(0, LEAST - 1), 0.0), "good": (Tally(95, 100), 0.0)},  # too few of its own
        {"bad": (Tally(0, 100), 0.0), "good": (Tally(19, 19), 0.0)},  # too few others
        {"bad": (Tally(80, 100), 0.0), "good": (Tally(88, 100), 0.0)},  # the intervals touch
        {"main": (Tally(0, 100), 0.0), "good": (Tally(95, 100), 0.0)},  # the main agent is no worker
        {"only": (Tally(0, 100), 0.0)},
        {},
    ],
)
def test_without_evidence_nothing_is_proposed(tallies):
    assert retirements(tallies) == ()


def test_put_aside_it_comes_back_with_that_much_more_evidence():
    fleet = {"good": (Tally(95, 100), 1.0)}
    names = [retirements({**fleet, "bad": (Tally(5, tried), 3.0)})[0].target for tried in (30, 39, 40)]
    assert names == ["retire-bad-1", "retire-bad-1", "retire-bad-2"]


def test_shares_are_said_with_their_interval():
    assert shares(Tally(12, 20)) == "12 of 20 (95 % CI 39–78 %)"
