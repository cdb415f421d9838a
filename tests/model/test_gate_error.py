"""How often the gate errs on suites from generators that were not there while it was built.

In those of `test_trials` fixes and regressions are planted. Here tasks have difficulties and versions abilities,
graders err, and cases of one work unit go together. `python -m tests.model.test_gate_error` prints the table of
docs/evolution.md.
"""

from __future__ import annotations

import functools
import math
import random
import sys
from collections.abc import Callable

import msgspec
import pytest

from lumen_tui.model.evals import EvalCase, Split, sample, siblings
from lumen_tui.model.paired import exact_interval
from lumen_tui.model.trials import MOST_PAIRS, PairedCase, TrialResult
from tests.model.test_trials import case_of, promoted

SEEDS = (310_007, 5_501, 77_351, 912_391, 46_411)
_EACH = 200  # trials of a seed
_TESTED = SEEDS[:2]


@functools.cache
def families(family: int) -> tuple[EvalCase, ...]:
    """200 cases in families of one work unit each."""
    first = case_of(Split.GATE, random.Random(family))  # noqa: S311 - a simulation
    return tuple(
        msgspec.structs.replace(first, id=f"cas-{number}", unit=f"WU-{number // family:03}", task=f"tsk-{number}")
        for number in range(200)
    )


def trial(chance: random.Random, gain: float, family: int = 1, errs: float = 0.0) -> TrialResult:
    """A trial of a challenger whose ability is that of the champion plus `gain` (logits), on what the gate samples.

    The outcomes of a family are one outcome: what happens to a unit of work once happens to it again.
    """
    outcomes: dict[str, tuple[bool, bool]] = {}
    cases = sample(families(family), MOST_PAIRS)
    again = siblings(cases)
    pairs = []
    for case in cases:
        if case.unit not in outcomes:
            ease = chance.gauss(0, 2)
            outcomes[case.unit] = passes(chance, ease, errs), passes(chance, ease + gain, errs)
        pairs.append(PairedCase(case.id, *outcomes[case.unit], sibling=case.id in again))
    return TrialResult(tuple(pairs))


def passes(chance: random.Random, logit: float, errs: float) -> bool:
    """Whether a task is done and its grader says so; a grader that errs says the opposite."""
    done = chance.random() < 1 / (1 + math.exp(-logit))
    return done is not (chance.random() < errs)


def share(seed: int, gain: float, family: int = 1, errs: float = 0.0) -> int:
    chance = random.Random(seed)  # noqa: S311 - a simulation
    return sum(promoted(trial(chance, gain, family, errs)) for _ in range(_EACH))


NULLS = {
    "no better: tasks of all difficulties": (0.0, 1, 0.0),
    "no better: four cases of each work unit, which go together": (0.0, 4, 0.0),
    "no better: graders that err in one case of ten": (0.0, 1, 0.1),
}
WORSE = {"worse: does half of what it did (odds 1 to 3)": (-1.1, 1, 0.0)}
BETTER = {
    "much better (odds 20 to 1)": (3.0, 1, 0.0),
    "much better, with graders that err in one case of ten": (3.0, 1, 0.1),
}


@pytest.mark.parametrize("planted", NULLS.values(), ids=NULLS)
def test_of_what_is_no_better_one_in_twenty_gets_in_at_most(planted: tuple[float, int, float]) -> None:
    hits = sum(share(seed, *planted) for seed in _TESTED)
    low, _ = exact_interval(hits, _EACH * len(_TESTED))
    assert low < 0.05


@pytest.mark.parametrize("planted", WORSE.values(), ids=WORSE)
def test_what_is_worse_does_not_get_in(planted: tuple[float, int, float]) -> None:
    assert sum(share(seed, *planted) for seed in _TESTED) == 0


@pytest.mark.parametrize("planted", BETTER.values(), ids=BETTER)
def test_what_is_much_better_gets_in_mostly(planted: tuple[float, int, float]) -> None:
    assert sum(share(seed, *planted) for seed in _TESTED) > 0.5 * _EACH * len(_TESTED)


def test_a_second_case_of_a_unit_counts_for_nothing_unless_it_must_hold() -> None:
    cases = families(4)
    must = [msgspec.structs.replace(case, must=True) if case.id == cases[3].id else case for case in cases]
    chosen = sample(must, 200)
    assert len(chosen) == 50  # the one that must hold stands for its unit
    both = [msgspec.structs.replace(case, must=case.unit == cases[0].unit) for case in cases]
    chosen = sample(both, 200)
    assert len(chosen) == 53
    assert len(siblings(chosen)) == 3
    broken = PairedCase("cas-a", champion=True, challenger=False, must=True, sibling=True)
    assert (broken.measured, broken.broken, broken.fails) == (False, False, True)


def main(write: Callable[[str], object] = sys.stdout.write) -> None:
    """Print the rows of the table."""
    for words, planted in (NULLS | WORSE | BETTER).items():
        hits, drawn = sum(share(seed, *planted) for seed in SEEDS), _EACH * len(SEEDS)
        low, high = exact_interval(hits, drawn)
        write(f"| {words} | {drawn:,} | {hits} | {low:.1%} to {high:.1%} |\n")


if __name__ == "__main__":
    main()
