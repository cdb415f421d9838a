"""The gate on suites from a third set of generators, written after all of its figures stood, and not used to mend it.

Versions are not drawn as fixes and regressions, nor as abilities. A task needs skills and a version has some; what
changes nothing is a coin of each task thrown twice, or who stood where, exchanged; what is worse forgets a stretch of
work. Poison is the table of what must never be learnt, in every place where a candidate has words.
`PYTHONPATH=tests/support python -m tests.engine.evolution.test_gate_afresh` prints the table of docs/evolution.md.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.evolution import Trust
from lumen_tui.model.evolved_edits import EditKind, EvolvedEdit
from lumen_tui.model.learning_rules import Rules
from lumen_tui.model.paired import exact_interval
from lumen_tui.model.trials import PairedCase, TrialResult
from lumen_tui.store.evolution import candidates
from lumen_tui.tools.policy.fence import redactor
from tests.actions.test_promotion import folder_at, passed
from tests.engine.evolution.evolution_bad_words import BAD
from tests.model.test_trials import candidate, promoted

SEEDS = (1_299_721, 3_571, 611_953, 27_644_437, 999_331)
_CASES = 40


def trial(champion: Iterable[bool], challenger: Iterable[bool]) -> TrialResult:
    both = enumerate(zip(champion, challenger, strict=True))
    return TrialResult(tuple(PairedCase(f"cas-{number}", *outcomes) for number, outcomes in both))


def needs(chance: random.Random) -> list[frozenset[int]]:
    """What skills, of twelve, each case needs."""
    return [frozenset(chance.sample(range(12), chance.randrange(1, 4))) for _ in range(_CASES)]


def improvements(chance: random.Random) -> Iterator[TrialResult]:
    """10 each that learn what 6, 8 and 12 failing cases lack, and forget one passing case at times."""
    for fixes in (6, 8, 12):
        made = 0
        while made < 10:
            cases, has = needs(chance), frozenset(chance.sample(range(12), 8))
            before = [case <= has for case in cases]
            failing = [number for number, done in enumerate(before) if not done]
            passing = [number for number, done in enumerate(before) if done]
            if len(failing) < fixes or not passing:
                continue
            learnt = {*chance.sample(failing, fixes)}
            forgotten = {*chance.sample(passing, chance.randrange(2))}
            after = [(done or number in learnt) and number not in forgotten for number, done in enumerate(before)]
            made += 1
            yield trial(before, after)


def regressions(chance: random.Random) -> Iterator[TrialResult]:
    """30 that forget a stretch of the work, and gain less elsewhere."""
    made = 0
    while made < 30:
        before = [chance.betavariate(2, 1) > 0.4 for _ in range(_CASES)]
        begin, length = chance.randrange(_CASES), chance.randrange(4, 16)
        after = list(before)
        for place in range(begin, begin + length):
            after[place % _CASES] = False
        lost = sum(was and not now for was, now in zip(before, after, strict=True))
        failing = [place for place in range(_CASES) if not before[place]]
        for place in chance.sample(failing, min(len(failing), chance.randrange(lost) if lost else 0)):
            after[place] = True
        if lost:
            made += 1
            yield trial(before, after)


def coins(chance: random.Random) -> TrialResult:
    """Each task has a coin of its own, mostly one-sided, which both versions throw."""
    odds = [chance.betavariate(0.5, 0.5) for _ in range(_CASES)]
    return trial(*([chance.random() < odd for odd in odds] for _ in range(2)))


def exchanged(chance: random.Random) -> TrialResult:
    """In each case it is a matter of chance which of two outcomes is the challenger's."""
    share = chance.uniform(0.02, 0.9)
    sides = [(True, False) if chance.random() < share else (True, True) for _ in range(_CASES)]
    turned = [side if chance.random() < 0.5 else side[::-1] for side in sides]
    return trial(*zip(*turned, strict=True))


def drifting(chance: random.Random) -> TrialResult:
    """The server gets worse while the trial goes on, for both alike."""
    odds = [0.95 - 0.9 * place / _CASES * chance.random() for place in range(_CASES)]
    return trial(*([chance.random() < odd for odd in odds] for _ in range(2)))


def nulls(chance: random.Random) -> Iterator[TrialResult]:
    """200 that are no better."""
    kinds = itertools.cycle((coins, exchanged, drifting))
    for draw in itertools.islice(kinds, 200):
        yield draw(chance)


def poisoned(chance: random.Random) -> Iterator[tuple[str, EvolvedEdit, str]]:
    """50 sentences that must never be learnt, each as the words of some kind of edit, or as its reason."""
    for number, text in enumerate(chance.sample(sorted(BAD), 50)):
        why = "answers were lost"
        place = number % 4
        if place == 0:
            yield text, EvolvedEdit("builder", EditKind.PROMPT, text=text), why
        elif place == 1:
            yield text, EvolvedEdit("builder", EditKind.SKILL, name="asking", text=f"How to ask.\n{text}"), why
        elif place == 2:
            yield text, EvolvedEdit("builder", EditKind.SKILL, name="asking", text=f"{text}\nAsk."), why
        else:
            yield text, EvolvedEdit("builder", EditKind.PROMPT, text="Say what you ran."), text


def count(draw: Callable[[random.Random], Iterable[TrialResult]], seed: int) -> tuple[int, int]:
    drawn = list(draw(random.Random(seed)))  # noqa: S311 - a simulation
    return sum(map(promoted, drawn)), len(drawn)


def swallowed(seed: int) -> list[str]:
    """The poison that the gate lets in with a result that is as good as can be."""
    good, rules = trial([False] * 12 + [True] * 28, [True] * 40), Rules((), redactor(os.environ))
    drawn = poisoned(random.Random(seed))  # noqa: S311 - a simulation
    return [text for text, edit, why in drawn if promoted(good, candidate=candidate(edit, why=why), rules=rules)]


@pytest.mark.parametrize("form", ["- {}", "1. {}", "# {}", "> {}", "**{}**", "| {} |", "`{}`", '"{}"', "\t{}"])
def test_a_bad_line_is_seen_among_good_ones_whatever_marks_it(form: str) -> None:
    good, rules = trial([False] * 12 + [True] * 28, [True] * 40), Rules((), redactor(os.environ))
    texts = {bad: f"How to ask.\nAsk.\n{form.format(bad)}\nThen wait." for bad in BAD}
    edits = {bad: EvolvedEdit("builder", EditKind.SKILL, name="asking", text=text) for bad, text in texts.items()}
    assert [bad for bad, edit in edits.items() if promoted(good, candidate=candidate(edit), rules=rules)] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_planted_suites_are_judged_as_they_were_planted(seed: int) -> None:
    hits, drawn = count(improvements, seed)
    assert (hits >= 27, drawn) == (True, 30)
    assert count(regressions, seed) == (0, 30)
    assert swallowed(seed) == []


def test_of_what_is_no_better_one_in_twenty_gets_in_at_most() -> None:
    counts = [count(nulls, seed) for seed in SEEDS]
    assert sum(hits for hits, _ in counts) <= 0.05 * sum(drawn for _, drawn in counts)


def test_what_the_constitution_never_wants_comes_into_force_by_no_trial(tmp_path: Path) -> None:
    desk = folder_at(tmp_path / "state")
    desk.layout.constitution.write_text("# Ours\n\n## Never learn\n\n- deploy * on friday\n")
    desk.do("constitution.approve")
    for words in ({"text": "Deploy the site on Friday."}, {"text": "Be quick.", "why": "we deploy it on Friday"}):
        name = desk.do("evolution.propose", **{"role": "builder", "why": "it was late", **words}).target
        candidates.report(desk.layout, passed(desk.layout, candidates.candidates(desk.layout)[name].edit))
        with pytest.raises(ActionError, match="the constitution says never: deploy"):
            desk.do("evolution.promote", candidate=name)
    assert not desk.layout.champion.exists()


def test_a_secret_in_a_candidate_keeps_it_out() -> None:
    text = "Use ghp_0123456789abcdefghijklmnopqrstuvwxyz for pushes"
    edit = EvolvedEdit("builder", EditKind.PROMPT, text=text)
    good = trial([False] * 12 + [True] * 28, [True] * 40)
    rules = Rules((), redactor(os.environ))
    assert not promoted(good, candidate=candidate(edit, trust=Trust.PERSON), rules=rules)


def main(write: Callable[[str], object] = sys.stdout.write) -> None:
    """Print the rows of the table."""
    kinds = {
        "improvements: learn what 6, 8 or 12 failing cases lack, forget up to one": improvements,
        "regressions: forget a stretch of work, gain less elsewhere": regressions,
        "no better: coins thrown twice, outcomes exchanged, a server that gets worse": nulls,
    }
    for words, draw in kinds.items():
        counts = [count(draw, seed) for seed in SEEDS]
        _row(write, words, sum(hits for hits, _ in counts), sum(drawn for _, drawn in counts))
    _row(write, "poison: what must never be learnt, in each place of words", sum(map(len, map(swallowed, SEEDS))), 250)


def _row(write: Callable[[str], object], words: str, hits: int, drawn: int) -> None:
    low, high = exact_interval(hits, drawn)
    write(f"| {words} | {drawn:,} | {hits} | {low:.1%} to {high:.1%} |\n")


if __name__ == "__main__":
    main()
