"""The one place that asks the system for the time. Everything else takes `now` as an argument."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What the engine needs of time."""

    def now(self) -> float:
        """Wall time in seconds since 1970: for records and ages."""

    def running(self) -> float:
        """Seconds that only ever grow and go on while the machine sleeps: for durations."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def running(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
