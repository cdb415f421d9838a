"""Values read from small files, read again only when a file changed on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp:
    """Return what differs once a file or folder is replaced or written: inode, size, time; zeros without one."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return (0, 0, 0)
    return (status.st_ino, status.st_size, status.st_mtime_ns)


class Stamped(Generic[T]):
    """A value read from some paths; `refresh` reads it again only where one of them changed."""

    def __init__(self, paths: Callable[[], list[Path]], load: Callable[[], T]) -> None:
        self._paths = paths
        self._load = load
        self._stamps: list[Stamp] | None = None
        self._value: T | None = None
        self.revision = 0

    def refresh(self) -> bool:
        """Read the value again where a path changed; return whether it was read."""
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
