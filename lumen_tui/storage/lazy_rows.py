"""Sequences whose items are made when they are asked for: what a list of a million rows is to the room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar, overload

R = TypeVar("R")


class LazyRows(Sequence[R], Generic[R]):
    """Subclasses give `__len__` and `at`, which gets places from 0 to below the length."""

    def at(self, place: int) -> R:
        """The row at a place."""
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
