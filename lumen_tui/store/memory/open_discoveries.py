"""The open discoveries of the node index: by priority, then oldest first; snoozed ones are kept apart."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.model.attention import Untriaged
from lumen_tui.model.records import PRIORITIES
from lumen_tui.storage.line_access import SortedRows
from lumen_tui.store.memory.row_table import Row, RowTable

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
        known = set(numbers)
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
