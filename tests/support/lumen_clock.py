"""Time that passes when a test says so: alone, or on top of the machine's."""

from __future__ import annotations

import time

_RAN = 1000.0  # seconds since boot at the start: any number


class HandClock:
    """The clocks of a room or an engine, moved by hand: `clock.wall += 60` lets a minute pass on all of them."""

    def __init__(self, now: float) -> None:
        self.wall = self._start = now

    def now(self) -> float:
        return self.wall

    def running(self) -> float:
        return _RAN + self.wall - self._start

    awake = running


class MovedClock:
    """The machine's clocks, put on by what the test lets pass: workers live in real time."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def running(self) -> float:
        return time.monotonic() + self.ahead

    awake = running

    def pass_time(self, seconds: float) -> None:
        self.ahead += seconds
