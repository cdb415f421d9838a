"""What changes many times a minute on the screen of somebody who only looks on, and need not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Held(Generic[T]):
    """A value that is shown until the clock comes to a multiple of so many seconds: each new one goes over the line.

    All that is held as long as that changes with one frame.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._shown: tuple[object, float, T] | None = None  # what it is about, in which of these spans it was taken

    def of(self, about: object, now: float, take: Callable[[], T]) -> T:
        """Return the value; a new one at once where it is about something else than the one before."""
        if self._shown is None or self._shown[0] != about or now // self._seconds != self._shown[1]:
            self._shown = about, now // self._seconds, take()
        return self._shown[2]
