"""The orders in which a pane's list may stand, which one key goes through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

R = TypeVar("R")

MOST = 2000  # rows that are sorted: more would be read from the disk for an order that nobody reads to its end


class SortOrder(NamedTuple, Generic[R]):
    """One order: its name and what it goes by; the highest stand first."""

    name: str
    key: Callable[[R], float | str]
    falling: bool = True


class Sorting(Generic[R]):
    """The orders of one list. The first is the list's own."""

    def __init__(self, own: str, *others: SortOrder[R]) -> None:
        self._own, self._others = own, others
        self._place = 0

    @property
    def name(self) -> str:
        """The order in force; empty for the list's own."""
        return self._others[self._place - 1].name if self._place else ""

    def next(self) -> str:
        """Go to the next order, and return its name."""
        self._place = (self._place + 1) % (len(self._others) + 1)
        return self.name or self._own

    def apply(self, rows: Sequence[R]) -> Sequence[R]:
        """Return the rows in the order in force; where it is not their own, the first ones of very many."""
        if not self._place:
            return rows
        order = self._others[self._place - 1]
        near = [rows[place] for place in range(min(MOST, len(rows)))]
        return sorted(near, key=order.key, reverse=order.falling)
