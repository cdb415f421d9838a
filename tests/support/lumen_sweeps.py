"""Sweeps: a fault at every point where there could be one.

A run of the suite takes a sample, drawn with a seed that it prints; LUMEN_SEED=N draws the same one again. With
LUMEN_FULL=1 (`make sweeps`) all points are taken. Which test took how many of how many stands in a table at the end.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest

FULL = bool(os.environ.get("LUMEN_FULL"))
TAKEN = "points"  # the property of a test's report under which its part of the table travels

Point = TypeVar("Point")


def draw_seed() -> None:
    """Once for the whole run, before processes are started that share it."""
    os.environ.setdefault("LUMEN_SEED", str(random.SystemRandom().randrange(1_000_000)))


def seed() -> int:
    """The seed of this run."""
    return int(os.environ["LUMEN_SEED"])


def seeds(most: int) -> Iterable[int]:
    """So many seeds for a test that is random itself, or one."""
    return range(1, most + 1) if FULL else (seed(),)


def sample(points: list[Point], most: int, name: str) -> list[Point]:
    """All points, or `most` of them in their order: both ends, and between them others for each seed."""
    if FULL or len(points) <= most:
        return points
    chance = random.Random(f"{seed()} {name}")  # noqa: S311 - a sample
    between = sorted(chance.sample(range(1, len(points) - 1), most - 2))
    return [points[at] for at in (0, *between, len(points) - 1)]


def parameters(points: Iterable[Any], most: int, name: str) -> list[Any]:
    """For `parametrize`: all points, or `most` of them, others for each seed. `make sweeps` runs them all."""
    every = list(points)
    chance = random.Random(f"{seed()} {name}")  # noqa: S311 - a sample
    chosen = range(len(every)) if FULL else sorted(chance.sample(range(len(every)), min(most, len(every))))
    return [pytest.param(*_values(every[at]), marks=pytest.mark.sweep) for at in chosen]


def drawn(ways: Sequence[Point], name: str) -> Point:
    """One of several ways that are each as good, another for each seed and name."""
    return random.Random(f"{seed()} {name}").choice(ways)  # noqa: S311 - a sample


def _values(point: Any) -> tuple[Any, ...]:
    return point if isinstance(point, tuple) else (point,)


def table(rows: Iterable[tuple[str, str, float]]) -> list[str]:
    """Lines for tests, with the points each took and its seconds."""
    return [f"{seconds:8.1f} s  {points:>11} points  {name}" for name, points, seconds in sorted(rows)]
