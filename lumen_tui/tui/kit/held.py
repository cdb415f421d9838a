"""What changes many times a minute on the screen of somebody who only looks on, and need not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Held(Generic[T]):
    """A value that is shown for so many seconds before a newer one is: each that is painted goes over the line."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._shown: tuple[object, float, T] | None = None  # what it is about, when it was taken, in seconds since 1970

    def of(self, about: object, now: float, take: Callable[[], T]) -> T:
        """Return the value; a new one at once where it is about something else than the one before."""
        if self._shown is None or self._shown[0] != about or abs(now - self._shown[1]) >= self._seconds:
            self._shown = about, now, take()
        return self._shown[2]
