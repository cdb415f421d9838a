"""The one place that asks the system for the time. Everything else takes `now` as an argument."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from lumen_tui.model.liveness import Clocks
from lumen_tui.storage.process import boot_id


class Clock(Protocol):
    """What the engine needs of time."""

    def now(self) -> float:
        """Wall time in seconds since 1970: for records and ages."""

    def running(self) -> float:
        """Seconds that only ever grow and go on while the machine sleeps: for durations."""

    def awake(self) -> float:
        """Seconds that only grow, and stand still while the machine sleeps: for what a process can be blamed for."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def running(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def awake(self) -> float:
        return time.monotonic()


def clocks_of(clock: Clock) -> Callable[[], Clocks] | None:
    """What a reader needs to tell ages that nobody can move; None for a clock that is no machine's."""
    if not isinstance(clock, SystemClock):
        return None
    return lambda: Clocks(running=clock.running(), awake=clock.awake(), boot_id=boot_id())
