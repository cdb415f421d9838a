"""Clocks that a test moves: an artificial one, and the machine's clock with an offset."""

from __future__ import annotations

import time

_RAN = 1000.0  # seconds since boot at the start: any number


class HandClock:
    """The clocks of a room or an engine, moved by hand: `clock.wall += 60` advances all of them by a minute."""

    def __init__(self, now: float) -> None:
        self.wall = self._start = now

    def now(self) -> float:
        return self.wall

    def running(self) -> float:
        return _RAN + self.wall - self._start

    awake = running


class MovedClock:
    """The machine's clocks plus an offset that the test adds to: workers run in real time."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def running(self) -> float:
        return time.monotonic() + self.ahead

    awake = running

    def pass_time(self, seconds: float) -> None:
        self.ahead += seconds
