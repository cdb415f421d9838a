"""The system's clocks: the one place that asks for the time. Everything else takes `now` as an argument."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from lumen_tui.model.liveness import Clocks
from lumen_tui.storage.process import boot_id


class Clock(Protocol):
    """The three clocks that the engine needs."""

    def now(self) -> float:
        """Return the wall time in seconds since 1970, for records and ages."""

    def running(self) -> float:
        """Return monotonic seconds that go on while the machine sleeps, for durations."""

    def awake(self) -> float:
        """Return monotonic seconds that stop while the machine sleeps, for what a process can be blamed for."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def running(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def awake(self) -> float:
        return time.monotonic()


def clocks_of(clock: Clock) -> Callable[[], Clocks] | None:
    """Return a reading of the monotonic clocks for a reader of ages; None for a clock other than the machine's."""
    if not isinstance(clock, SystemClock):
        return None
    return lambda: Clocks(running=clock.running(), awake=clock.awake(), boot_id=boot_id())
