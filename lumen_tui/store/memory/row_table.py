"""Rows of the node index in columns: 26 bytes a node, where an object for each would take ten times that."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import msgspec

_SLOTS = 1024  # at the beginning; a power of two


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

    def created(self, number: int) -> float:
        """When a node was made."""
        return self._created[number]

    def touched(self, number: int) -> float:
        """When a node was touched last."""
        return self._touched[number]

    def rank(self, number: int) -> int:
        """The rank of a node's priority."""
        return self._bits[number] >> 3 & 7

    def select(self, status: int, **fields: int) -> list[int]:
        """Numbers of the rows of a status and with these values of `discovery`, `pinned` and `kept`, in their order."""
        mask, wanted = 3, status
        for name, value in fields.items():
            mask, wanted = mask | _PLACES[name][1] << _PLACES[name][0], wanted | value << _PLACES[name][0]
        return [number for number, bits in enumerate(self._bits) if bits & mask == wanted]

    def protected(self, status: int) -> list[int]:
        """Numbers of the rows of a status that something keeps from decay, in their order."""
        return [number for number, bits in enumerate(self._bits) if bits & 3 == status and bits >> 7]

    def put_off(self) -> list[int]:
        """Numbers of the rows that were put off until whenever."""
        return list(self._snoozed)

    def _put_off(self, number: int, row: Row) -> None:
        self._snoozed.pop(number, None)
        if row.snoozed_until:
            self._snoozed[number] = row.snoozed_until


_PLACES = {"discovery": (2, 1), "pinned": (6, 1), "kept": (7, 7)}  # in the bits: from where, how much


def _bits(row: Row) -> int:
    return row.status | row.discovery << 2 | row.rank << 3 | row.pinned << 6 | row.kept << 7


class IdNumbers:
    """Which row an id has, by the id's hash: about 20 bytes an id, where a dict of integers takes a hundred.

    A table of slots, at most half of them taken; an id stands in the slot of its hash or in the next free one.
    Rows are numbered in the order in which their ids came.
    """

    def __init__(self) -> None:
        self._hashes = array("q")
        self._slots = array("I", bytes(4 * _SLOTS))  # 1 + the row, 0 for none

    def get(self, identifier: str) -> int | None:
        """The row of an id, None where there is none."""
        number = self._slots[self._slot(hash(identifier))]
        return number - 1 if number else None

    def give(self, identifier: str) -> int:
        """The row of an id; one that has none gets the next."""
        name = hash(identifier)
        slot = self._slot(name)
        if self._slots[slot]:
            return self._slots[slot] - 1
        self._hashes.append(name)
        self._slots[slot] = len(self._hashes)
        if 2 * len(self._hashes) > len(self._slots):
            self._grow()
        return len(self._hashes) - 1

    def _slot(self, name: int) -> int:
        """Where the id with this hash stands or would stand."""
        slots, hashes = self._slots, self._hashes
        last = len(slots) - 1
        slot = name & last
        while (number := slots[slot]) and hashes[number - 1] != name:
            slot = (slot + 1) & last
        return slot

    def _grow(self) -> None:
        self._slots = array("I", bytes(4 * 4 * len(self._slots)))
        for number, name in enumerate(self._hashes, start=1):
            self._slots[self._slot(name)] = number
