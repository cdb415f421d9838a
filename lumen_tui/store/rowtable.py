"""Rows of the node index in columns: 26 bytes a node, where an object for each would take ten times that."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import msgspec


class Row(msgspec.Struct, frozen=True, gc=False):
    """One node in the index. Times are in seconds since 1970; age counts from `touched`."""

    offset: int
    created: float
    touched: float
    status: int  # 0 open, 1 archived, 2 gone
    discovery: bool
    rank: int  # of the priority, 4 for none
    pinned: bool
    kept: int = 0  # 1 + the place in PROTECTIONS of what keeps it from decay; 0 where nothing does
    snoozed_until: float = 0.0

    @property
    def protected(self) -> bool:
        """Whether decay leaves it alone."""
        return self.kept > 0


class RowTable:
    """Behaves as a list of Row; only a put-off date, which few nodes have, is kept beside the columns."""

    def __init__(self) -> None:
        self._offset, self._bits = array("Q"), array("H")
        self._created, self._touched = array("d"), array("d")
        self._snoozed: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._bits)

    def __getitem__(self, number: int) -> Row:
        bits = self._bits[number]
        return Row(
            offset=self._offset[number], created=self._created[number], touched=self._touched[number],
            status=bits & 3, discovery=bool(bits & 4), rank=bits >> 3 & 7, pinned=bool(bits & 64),
            kept=bits >> 7 & 7, snoozed_until=self._snoozed.get(number, 0.0),
        )  # fmt: skip

    def __setitem__(self, number: int, row: Row) -> None:
        self._offset[number], self._bits[number] = row.offset, _bits(row)
        self._created[number], self._touched[number] = row.created, row.touched
        self._put_off(number, row)

    def append(self, row: Row) -> None:
        self._put_off(len(self), row)
        self._offset.append(row.offset)
        self._bits.append(_bits(row))
        self._created.append(row.created)
        self._touched.append(row.touched)

    def __iter__(self) -> Iterator[Row]:
        return (self[number] for number in range(len(self)))

    def offset(self, number: int) -> int:
        """Where the newest line of a row begins in the journal."""
        return self._offset[number]

    def with_status(self, status: int, *, kept: bool = False) -> list[int]:
        """Numbers of the rows of a status, in their order; with `kept` of the protected ones alone."""
        return [number for number, bits in enumerate(self._bits) if bits & 3 == status and (not kept or bits >> 7 & 7)]

    def _put_off(self, number: int, row: Row) -> None:
        self._snoozed.pop(number, None)
        if row.snoozed_until:
            self._snoozed[number] = row.snoozed_until


def _bits(row: Row) -> int:
    return row.status | row.discovery << 2 | row.rank << 3 | row.pinned << 6 | row.kept << 7


class IdNumbers:
    """Which row an id has, by the id's hash: an integer takes half the room of a text."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def get(self, identifier: str) -> int | None:
        """The row of an id, None where there is none."""
        return self._numbers.get(hash(identifier))

    def give(self, identifier: str, number: int) -> int:
        """The row of an id; one that has none gets `number`."""
        return self._numbers.setdefault(hash(identifier), number)
