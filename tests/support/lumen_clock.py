"""Time that passes only when a test says so."""

from __future__ import annotations

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
