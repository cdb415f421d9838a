"""The canary: what the first real tasks after a promotion say of it, against those before.

Trials are on records. Real tasks may show what no case did, so the first ones of the role are watched, and where they
are clearly worse the version before comes back by itself. Looking after each task makes a false alarm more likely,
which costs a good change its place and nothing else; so the error of one look is small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

from msgspec import Struct

WATCHED = 20  # tasks of the role after a promotion, and as many before
_LEAST = 3  # that went wrong in the same way
_FEW = 5  # tasks: on fewer before there is nothing to compare with
_ALPHA = 0.01  # of one look at one measure
_STUCK = 5  # refused calls in one task, from which it ran against a wall
_DEARER = 1.5  # times the tokens of the task in the middle


class WatchedTask(Struct, frozen=True):
    """What one task that ended says of its role."""

    disproved: bool = False  # a claim of it was
    lost: bool = False  # its worker died, and nobody took it up
    denials: int = 0  # calls that were refused
    tokens: int = 0
    done: bool = False

    @property
    def stuck(self) -> bool:
        """Whether it ran against a wall."""
        return self.denials >= _STUCK


_MEASURES: tuple[tuple[str, Callable[[WatchedTask], bool]], ...] = (
    ("claims were disproved", lambda task: task.disproved),
    ("workers died", lambda task: task.lost),
    ("tasks ran into refusals again and again", lambda task: task.stuck),
)


def breach(before: Sequence[WatchedTask], after: Sequence[WatchedTask]) -> str:
    """Return what got clearly worse since the promotion, in words; empty where nothing did."""
    for words, is_bad in _MEASURES:
        bad, was = sum(map(is_bad, after)), sum(map(is_bad, before))
        if bad >= _LEAST and _is_worse(bad, len(after), was, len(before)):
            return f"{words} in {bad} of {len(after)} tasks since, in {was} of {len(before)} before"
    return _dearer(*([task.tokens for task in tasks if task.tokens] for tasks in (before, after)))


def _dearer(before: Sequence[int], after: Sequence[int]) -> str:
    """Return that tasks take far more tokens; empty where they do not, or where that may be chance.

    Tasks differ widely in what they take, so a middle alone says little: by Mood's median test more of the later ones
    must lie above the middle of all.
    """
    if min(len(before), len(after)) < _FEW:
        return ""
    was, now, middle = (sorted(tokens)[len(tokens) // 2] for tokens in (before, after, [*before, *after]))
    above, above_before = (sum(count > middle for count in tokens) for tokens in (after, before))
    if now <= was * _DEARER or fisher(above, len(after), above_before, len(before)) >= _ALPHA:
        return ""
    return f"a task takes {now:,} tokens since, {was:,} before"


def _is_worse(bad: int, tasks: int, was: int, earlier: int) -> bool:
    if earlier < _FEW:
        return 2 * bad >= tasks
    return fisher(bad, tasks, was, earlier) < _ALPHA


def fisher(bad: int, tasks: int, was: int, earlier: int) -> float:
    """Return the one-sided p-value of Fisher's exact test that the share of bad ones did not grow."""
    total = bad + was
    ways = sum(comb(tasks, count) * comb(earlier, total - count) for count in range(bad, min(tasks, total) + 1))
    return ways / comb(tasks + earlier, total)
