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
    """A list of Row, stored in columns; only the snooze date, which few nodes have, is kept beside them."""

    def __init__(self) -> None:
        self._offset = array("Q")
        self._bits = array("H")
        self._created = array("d")
        self._touched = array("d")
        self._snoozed: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._bits)

    def __getitem__(self, number: int) -> Row:
        bits = self._bits[number]
        return Row(
            offset=self._offset[number],
            created=self._created[number],
            touched=self._touched[number],
            status=bits & 3,
            discovery=bool(bits & 4),
            rank=bits >> 3 & 7,
            pinned=bool(bits & 64),
            kept=bits >> 7 & 7,
            snoozed_until=self._snoozed.get(number, 0.0),
        )

    def __setitem__(self, number: int, row: Row) -> None:
        self._offset[number] = row.offset
        self._bits[number] = _bits(row)
        self._created[number] = row.created
        self._touched[number] = row.touched
        self._set_snooze(number, row)

    def append(self, row: Row) -> None:
        self._set_snooze(len(self), row)
        self._offset.append(row.offset)
        self._bits.append(_bits(row))
        self._created.append(row.created)
        self._touched.append(row.touched)

    def __iter__(self) -> Iterator[Row]:
        return (self[number] for number in range(len(self)))

    def offset(self, number: int) -> int:
        """Return the offset of a row's newest line in the journal."""
        return self._offset[number]

    def created(self, number: int) -> float:
        """Return when a node was created."""
        return self._created[number]

    def touched(self, number: int) -> float:
        """Return when a node was last touched."""
        return self._touched[number]

    def rank(self, number: int) -> int:
        """Return the rank of a node's priority."""
        return self._bits[number] >> 3 & 7

    def select(self, status: int, **fields: int) -> list[int]:
        """Return the numbers of the rows with a status and these values of `discovery`, `pinned` and `kept`."""
        mask = 3
        pattern = status
        for name, value in fields.items():
            shift, largest = _PLACES[name]
            mask |= largest << shift
            pattern |= value << shift
        return [number for number, bits in enumerate(self._bits) if bits & mask == pattern]

    def protected(self, status: int) -> list[int]:
        """Return the numbers of the rows with a status that are protected from decay, in order."""
        return [number for number, bits in enumerate(self._bits) if bits & 3 == status and bits >> 7]

    def snoozed(self) -> list[int]:
        """Return the numbers of the rows that were snoozed, until whenever."""
        return list(self._snoozed)

    def _set_snooze(self, number: int, row: Row) -> None:
        self._snoozed.pop(number, None)
        if row.snoozed_until:
            self._snoozed[number] = row.snoozed_until


_PLACES = {"discovery": (2, 1), "pinned": (6, 1), "kept": (7, 7)}  # in the bits: from where, how much


def _bits(row: Row) -> int:
    return row.status | row.discovery << 2 | row.rank << 3 | row.pinned << 6 | row.kept << 7


class IdNumbers:
    """Maps an id to its row number, by the id's hash: about 20 bytes an id, where a dict takes a hundred.

    A table of slots, at most half of them taken; an id is in the slot of its hash or in the next free one.
    Rows are numbered in the order in which their ids came.
    """

    def __init__(self) -> None:
        self._hashes = array("q")
        self._slots = array("I", bytes(4 * _SLOTS))  # 1 + the row, 0 for none

    def get(self, identifier: str) -> int | None:
        """Return the row number of an id; None where there is none."""
        number = self._slots[self._slot(hash(identifier))]
        return number - 1 if number else None

    def give(self, identifier: str) -> int:
        """Return the row number of an id; a new id gets the next."""
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
        """Return the slot in which the id with this hash is or would be."""
        slots = self._slots
        hashes = self._hashes
        last = len(slots) - 1
        slot = name & last
        while (number := slots[slot]) and hashes[number - 1] != name:
            slot = (slot + 1) & last
        return slot

    def _grow(self) -> None:
        self._slots = array("I", bytes(4 * 4 * len(self._slots)))
        for number, name in enumerate(self._hashes, start=1):
            self._slots[self._slot(name)] = number
