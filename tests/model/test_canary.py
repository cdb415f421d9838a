"""The canary: clear breaches are seen soon, and what is as before is left alone."""

from __future__ import annotations

import random

import pytest

from lumen_tui.model.canary import WATCHED, WatchedTask, breach, fisher

FINE, BAD = WatchedTask(tokens=1000), WatchedTask(disproved=True, tokens=1000)


def test_fishers_test_has_the_values_of_the_tables() -> None:
    assert fisher(3, 4, 1, 4) == pytest.approx(17 / 70)  # a lady tasting tea, three of four
    assert fisher(4, 4, 0, 4) == pytest.approx(1 / 70)
    assert fisher(0, 5, 3, 5) == 1.0


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (BAD, "claims were disproved in 4 of 5 tasks since, in 1 of 20 before"),
        (WatchedTask(lost=True), "workers died in 4 of 5 tasks since, in 1 of 20 before"),
        (WatchedTask(denials=7), "tasks ran into refusals again and again in 4 of 5 tasks since, in 1 of 20 before"),
    ],
)
def test_each_kind_of_breach_is_named(bad: WatchedTask, words: str) -> None:
    assert breach([bad, *[FINE] * 19], [FINE, *[bad] * 4]) == words


def test_without_tasks_before_half_of_them_is_too_many() -> None:
    assert breach([], [BAD] * 3 + [FINE] * 3)
    assert not breach([], [BAD] * 3 + [FINE] * 4)
    assert not breach([], [BAD] * 2)


def test_what_costs_more_is_a_breach() -> None:
    dear = WatchedTask(tokens=1600)
    assert breach([FINE] * 20, [dear] * 5) == "a task takes 1,600 tokens since, 1,000 before"
    assert not breach([FINE] * 20, [dear] * 4)
    assert not breach([FINE] * 20, [WatchedTask(tokens=1400)] * 20)
    assert not breach([WatchedTask()] * 20, [dear] * 20)  # nothing is known of those before


def test_a_refusal_or_two_is_what_a_rule_is_for() -> None:
    assert not breach([FINE] * 20, [WatchedTask(denials=2, tokens=1000)] * 20)


def watched(chance: random.Random, before: float, after: float) -> int:
    """After how many tasks a change of the share of false claims is seen; 0: never."""
    earlier = [BAD if chance.random() < before else FINE for _ in range(WATCHED)]
    later: list[WatchedTask] = []
    for count in range(1, WATCHED + 1):
        later.append(BAD if chance.random() < after else FINE)
        if breach(earlier, later):
            return count
    return 0


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5])
def test_false_alarms_over_all_looks_are_few(share: float) -> None:
    chance = random.Random(31_337)  # noqa: S311 - a simulation
    assert sum(watched(chance, share, share) > 0 for _ in range(400)) <= 0.05 * 400


@pytest.mark.parametrize("spread", [0.3, 0.5, 0.8])
def test_tasks_that_differ_widely_in_tokens_seldom_raise_an_alarm(spread: float) -> None:
    chance = random.Random(27_644)  # noqa: S311 - a simulation

    def task() -> WatchedTask:
        return WatchedTask(tokens=round(20_000 * chance.lognormvariate(0, spread)))

    alarms = 0
    for _ in range(400):
        before, after = [task() for _ in range(WATCHED)], [task() for _ in range(WATCHED)]
        alarms += any(breach(before, after[:count]) for count in range(1, WATCHED + 1))
    assert alarms <= 0.05 * 400


def test_a_change_that_ruins_most_tasks_is_seen_soon() -> None:
    chance = random.Random(4_242)  # noqa: S311 - a simulation
    seen = [watched(chance, 0.1, 0.8) for _ in range(400)]
    assert sum(count > 0 for count in seen) >= 0.95 * 400
    assert sorted(seen)[200] <= 8
