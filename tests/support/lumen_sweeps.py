"""Sweeps: a fault at every point where there could be one.

A run of the suite takes a sample, drawn with a seed that it prints; LUMEN_SEED=N draws the same one again. On a build
machine (CI is set) the commit is the seed, so that whoever checks it out gets the same verdict. With LUMEN_FULL=1
(`make sweeps`) all points are taken. A table at the end says how many points of how many each test took.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest

FULL = bool(os.environ.get("LUMEN_FULL"))
OUTCOMES = "outcomes"  # how many of them ended how, in words
TAKEN = "points"  # the property of a test's report under which its part of the table travels

Point = TypeVar("Point")


def draw_seed() -> None:
    """Draw the seed of the whole run, before processes are started that share it."""
    drawn = _commits_seed() if os.environ.get("CI") else None
    os.environ.setdefault("LUMEN_SEED", str(random.SystemRandom().randrange(1_000_000) if drawn is None else drawn))


def _commits_seed() -> int | None:
    """Return a seed that is the same for everybody who has these files; None where no git knows them."""
    try:
        named = subprocess.run(["git", "rev-parse", "HEAD^{tree}"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return int(named.stdout[:12], 16) % 1_000_000


def seed() -> int:
    """Return the seed of this run."""
    return int(os.environ["LUMEN_SEED"])


def seeds(most: int) -> Iterable[int]:
    """Return `most` seeds in a full run, else one, for a test that is random itself."""
    return range(1, most + 1) if FULL else (seed(),)


def sample(points: list[Point], most: int, name: str) -> list[Point]:
    """Return all points, or `most` of them in order: both ends, and between them others for each seed."""
    if FULL or len(points) <= most:
        return points
    between = sorted(_chance(name).sample(range(1, len(points) - 1), most - 2))
    return [points[at] for at in (0, *between, len(points) - 1)]


def split(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return the tests of this run, and the points beyond N that `@pytest.mark.sweep(most=N)` leaves to other runs."""
    points: dict[str, list[pytest.Item]] = {}
    for item in items:
        points.setdefault(item.nodeid.partition("[")[0], []).append(item)
    others = {id(item) for name, of_it in points.items() for item in _left_out(name, of_it)}
    return [item for item in items if id(item) not in others], [item for item in items if id(item) in others]


def _left_out(name: str, items: list[pytest.Item]) -> list[pytest.Item]:
    most = min((mark.kwargs["most"] for mark in items[0].iter_markers("sweep") if "most" in mark.kwargs), default=None)
    if FULL or most is None or len(items) <= most:
        return []
    return _chance(name).sample(items, len(items) - most)


def drawn(ways: Sequence[Point], name: str) -> Point:
    """Return one of several equivalent ways, another for each seed and name."""
    return _chance(name).choice(ways)


def _chance(name: str) -> random.Random:
    """Return the random numbers of one sweep in this run."""
    return random.Random(f"{seed()} {name}")  # noqa: S311 - a sample


def table(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return a line for each test that swept, with its seconds, the points that it took, and how these ended."""
    rows = [(report.nodeid, report.duration, dict(report.user_properties)) for report in reports]
    return [
        f"{seconds:8.1f} s  {told[TAKEN]!s:>11} points  {name}  {told.get(OUTCOMES, '')}".rstrip()
        for name, seconds, told in sorted(rows, key=lambda row: row[0])
        if TAKEN in told
    ]
