"""Small files that are read again only when they changed on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp:
    """What changes when a file or folder is replaced or written; zeros where there is none."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)


class Stamped(Generic[T]):
    """A value read from some paths; `refresh` reads it anew only where one of them changed."""

    def __init__(self, paths: Callable[[], list[Path]], load: Callable[[], T]) -> None:
        self._paths, self._load = paths, load
        self._stamps: list[Stamp] | None = None
        self._value: T | None = None
        self.revision = 0

    def refresh(self) -> bool:
        """Look; True where the value was read anew."""
        stamps = [stamp(path) for path in self._paths()]
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        self._value = self._load()
        self.revision += 1
        return True

    @property
    def value(self) -> T:
        """The value of the last refresh."""
        if self._stamps is None:
            self.refresh()
        return self._value  # type: ignore[return-value]
