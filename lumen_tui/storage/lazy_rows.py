"""Sequences whose items are made on access, so that the room can hold a list of a million rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar, overload

R = TypeVar("R")


class LazyRows(Sequence[R], Generic[R]):
    """A lazy sequence. Subclasses define `__len__` and `at`."""

    def at(self, place: int) -> R:
        """Return the row at a place from 0 to below the length."""
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> list[R]: ...
    def __getitem__(self, index: int | slice) -> R | list[R]:
        size = len(self)
        if isinstance(index, slice):
            return [self.at(place) for place in range(*index.indices(size))]
        if not -size <= index < size:
            raise IndexError(index)
        return self.at(index % size)
