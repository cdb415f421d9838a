"""The black box beside a million signals: the first moment, and a step to the event before or after it, in CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import TypeVar

from benchmarks.state import make_state
from benchmarks.table import Row
from lumen_tui.model import times
from lumen_tui.queries.black_box import BlackBox

_NODES, _SIGNALS, _STEPS = 1_000, 1_000_000, 40
_BACK = 5 * times.HOUR
T = TypeVar("T")


def _cpu(do: Callable[[], T]) -> tuple[float, T]:
    """Return the milliseconds of CPU that a call takes, and its result."""
    began = time.process_time()
    result = do()
    return 1000 * (time.process_time() - began), result


def _opened(root: Path, moment: float, now: float) -> tuple[float, BlackBox]:
    box = BlackBox(root, "bench")
    return _cpu(lambda: box.at(moment, now))[0], box


def _step(box: BlackBox, moment: float, now: float, *, forward: bool) -> float:
    """Go to the event beside a moment, as a key does, and return where that is."""
    happening = (box.happenings.after if forward else box.happenings.before)(moment)
    there = happening.at if happening else moment
    box.at(there, now)
    box.happenings.last(there)
    return there


def measure(folder: Path, newest: float) -> Iterator[Row]:
    """Yield the first moment, with the index that a room keeps and without one, and steps to both sides."""
    layout, moment = make_state(folder / "past", nodes=_NODES, signals=_SIGNALS, newest=newest), newest - _BACK
    cold, first_box = _opened(layout.root, moment, newest)
    first_box.close()
    warm, box = _opened(layout.root, moment, newest)
    with closing(box):
        took = []
        for number in range(_STEPS):
            spent, moment = _cpu(lambda at=moment, on=number % 3 == 0: _step(box, at, newest, forward=on))
            took.append(spent)
    of = f"{_SIGNALS:,} signals"
    yield Row("Q14", f"black box, first moment of {of}, no index kept, CPU", cold, goal=1000)
    yield Row("Q14", f"black box, first moment of {of}, CPU", warm, goal=1000)
    yield Row("Q14", f"black box, a step beside {of}, CPU p50", median(took), goal=20)
