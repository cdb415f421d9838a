"""The orders and counts of the node index, brought up to date row by row: by age, by urgency, by what protects."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from lumen_tui.model.decay import PROTECTIONS
from lumen_tui.model.records import PRIORITIES, Untriaged
from lumen_tui.storage.line_access import SortedRows
from lumen_tui.store.memory.node_rows import Row, RowTable

OPEN, ARCHIVED, GONE = 0, 1, 2  # the status of a row; gone: promoted, deleted, summarised away
_RANK = 1e11  # seconds: a discovery's priority outweighs every date


class OpenDiscoveries:
    """Row numbers of the table, in the order of triage."""

    def __init__(self) -> None:
        self._order = SortedRows()
        self._snoozed: dict[int, Row] = {}  # those that were snoozed, until whenever

    def add(self, number: int, row: Row) -> None:
        self._order.add(_place(row.rank, row.created), number)
        if row.snoozed_until:
            self._snoozed[number] = row

    def remove(self, number: int, row: Row) -> None:
        self._order.remove(_place(row.rank, row.created), number)
        self._snoozed.pop(number, None)

    def fill(self, rows: RowTable, numbers: list[int]) -> None:
        """Replace everything at once; `numbers` is sorted in place."""
        self._order.fill(numbers, lambda number: _place(rows.rank(number), rows.created(number)))
        self._find_snoozed(rows)

    def columns(self) -> dict[str, array[int] | array[float]]:
        """Return the columns that `restore` takes."""
        return self._order.columns("open")

    def restore(self, columns: Mapping[str, memoryview], rows: RowTable) -> None:
        """Take over the order that gave these columns."""
        self._order.restore(columns, "open")
        self._find_snoozed(rows)

    def _find_snoozed(self, rows: RowTable) -> None:
        known = set(self._order.rows) if rows.snoozed() else set()
        self._snoozed = {number: rows[number] for number in rows.snoozed() if number in known}

    def listed(self, now: float) -> Sequence[int]:
        """Return those that are not snoozed, the most urgent first."""
        hidden = self._snoozed_at(now)
        rows = self._order.rows
        return [number for number in rows if number not in hidden] if hidden else rows[:]

    def counts(self, now: float) -> dict[str, int]:
        """Count those that are not snoozed, by priority (`-` for none)."""
        hidden = [row.rank for row in self._snoozed_at(now).values()]
        counts = {}
        for rank, name in enumerate((*PRIORITIES, "-")):
            known = self._order.below(_place(rank + 1, 0)) - self._order.below(_place(rank, 0)) - hidden.count(rank)
            if known:
                counts[name] = known
        return counts

    def untriaged(self, before: float, now: float) -> Untriaged:
        """Return the number and the oldest of those created before a moment and not snoozed."""
        hidden = self._snoozed_at(now)
        count = 0
        oldest = []
        for rank in range(len(PRIORITIES) + 1):
            first = self._order.below(_place(rank, 0))
            end = self._order.below(_place(rank, before))
            places: Sequence[int] = range(first, end)
            if hidden:
                places = [place for place in places if self._order.rows[place] not in hidden]
            count += len(places)
            oldest += [self._order.keys[place] - _place(rank, 0) for place in places[:1]]
        return Untriaged(count, min(oldest, default=0.0))

    def _snoozed_at(self, now: float) -> dict[int, Row]:
        return {number: row for number, row in self._snoozed.items() if row.snoozed_until > now}


def _place(rank: int, created: float) -> float:
    return rank * _RANK + created


class NodeOrders:
    """The open, unprotected nodes by age, the open discoveries, and how many nodes there are of which kind."""

    def __init__(self) -> None:
        self.by_age = SortedRows()
        self.open = OpenDiscoveries()
        self.archived = self.pinned = 0
        self.by_protection = [0] * (1 + len(PROTECTIONS))  # active nodes by what keeps them; the first: nothing

    def columns(self) -> dict[str, array[int] | array[float]]:
        """Return the columns that `restore` takes."""
        return {**self.by_age.columns("age"), **self.open.columns()}

    def counts(self) -> list[int]:
        """Return the counts that `restore` takes."""
        return [self.archived, self.pinned, *self.by_protection]

    def restore(self, columns: Mapping[str, memoryview], counts: list[int], rows: RowTable) -> None:
        """Take over the orders of these rows."""
        self.by_age.restore(columns, "age")
        self.open.restore(columns, rows)
        self.archived, self.pinned, *self.by_protection = counts

    def count(self, row: Row, number: int, sign: int) -> None:
        """Enter one row into the orders and counts, or take it out."""
        if row.status == ARCHIVED:
            self.archived += sign
        if row.status != OPEN:
            return
        self.pinned += sign * row.pinned
        self.by_protection[row.protection] += sign
        change = SortedRows.add if sign > 0 else SortedRows.remove
        if not row.protected:
            change(self.by_age, row.touched, number)
        if row.discovery:
            (self.open.add if sign > 0 else self.open.remove)(number, row)

    def sort_all(self, rows: RowTable) -> None:
        """Order and count every row again."""
        self.by_age.fill(rows.select(OPEN, protection=0), rows.touched)
        self.open.fill(rows, rows.select(OPEN, discovery=True))
        self.archived = len(rows.select(ARCHIVED))
        self.pinned = len(rows.select(OPEN, pinned=True))
        self.by_protection = [
            len(rows.select(OPEN, protection=protection)) for protection in range(1 + len(PROTECTIONS))
        ]
