"""The rows of the node index, in columns, and the lists made of them: each node is read from disk when it is shown.

A node takes 26 bytes here, where an object for each would take ten times that.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from lumen_tui.model import decay
from lumen_tui.model.decay import PROTECTIONS, DecayForecast, DecayRule
from lumen_tui.model.digests import keyed_digests
from lumen_tui.model.records import DiscoveryRow, Node, NodeRow, decode_node
from lumen_tui.storage.lazy_rows import LazyRows
from lumen_tui.storage.line_access import OpenFile

if TYPE_CHECKING:
    from hashlib import blake2b

_SLOTS = 1024  # at the beginning; a power of two
_PLACES = {"discovery": (2, 1), "pinned": (6, 1), "protection": (7, 7)}  # in the bits: from where, how much
R = TypeVar("R")


class Row(msgspec.Struct, frozen=True, gc=False):
    """One node in the index. Times are in seconds since 1970; age counts from `touched`."""

    offset: int
    created: float
    touched: float
    status: int  # 0 open, 1 archived, 2 gone
    discovery: bool
    rank: int  # of the priority, 4 for none
    pinned: bool
    protection: int = 0  # 1 + the place in PROTECTIONS of what keeps it from decay; 0 where nothing does
    snoozed_until: float = 0.0

    @property
    def protected(self) -> bool:
        """Whether decay leaves it alone."""
        return self.protection > 0


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

    def columns(self) -> dict[str, array[int] | array[float]]:
        """Return the columns that `restore` takes, without the snooze dates."""
        return {"offset": self._offset, "bits": self._bits, "created": self._created, "touched": self._touched}

    def snooze_dates(self) -> list[tuple[int, float]]:
        """Return (row number, until when) of the rows that were snoozed."""
        return list(self._snoozed.items())

    def restore(self, columns: Mapping[str, memoryview], snoozed: Iterable[tuple[int, float]]) -> None:
        """Take over the rows that gave these columns and dates."""
        for name, column in self.columns().items():
            column.frombytes(columns[name])
        self._snoozed = dict(snoozed)

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
            protection=bits >> 7 & 7,
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
        """Return the numbers of the rows with a status and these values of `discovery`, `pinned` and `protection`."""
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


def _bits(row: Row) -> int:
    return row.status | row.discovery << 2 | row.rank << 3 | row.pinned << 6 | row.protection << 7


class IdNumbers:
    """Maps an id to its row number, by the id's hash: about 20 bytes an id, where a dict takes a hundred.

    A table of slots, at most half of them taken; an id is in the slot of its hash or in the next free one.
    Rows are numbered in the order in which their ids came. The hash has a secret key, so that nobody can make ids that
    take each other's row, and is not Python's own, so that another process can go on with the table.
    """

    def __init__(self) -> None:
        self._key = os.urandom(16)
        self._blake2b: type[blake2b] | None = None
        self._hashes = array("q")
        self._slots = array("I", bytes(4 * _SLOTS))  # 1 + the row, 0 for none

    def columns(self) -> dict[str, array[int] | bytes]:
        """Return the columns that `restore` takes."""
        return {"hashes": self._hashes, "slots": self._slots, "key": self._key}

    def restore(self, columns: Mapping[str, memoryview]) -> None:
        """Take over the ids that gave these columns."""
        self._key = bytes(columns["key"])
        self._hashes.frombytes(columns["hashes"])
        self._slots = array("I", bytes(columns["slots"]))

    def _hash(self, identifier: str) -> int:
        if self._blake2b is None:
            self._blake2b = keyed_digests()  # only where a node is new
        data = self._blake2b(identifier.encode(errors="surrogatepass"), digest_size=8, key=self._key).digest()
        return int.from_bytes(data, "little", signed=True)

    def get(self, identifier: str) -> int | None:
        """Return the row number of an id; None where there is none."""
        number = self._slots[self._slot(self._hash(identifier))]
        return number - 1 if number else None

    def give(self, identifier: str) -> int:
        """Return the row number of an id; a new id gets the next."""
        name = self._hash(identifier)
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


class _IndexedRows(LazyRows[R]):
    """Some rows of the node index, in a given order."""

    def __init__(self, file: OpenFile, rows: RowTable, order: Sequence[int]) -> None:
        self._file = file
        self._rows = rows
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    def at(self, place: int) -> R:
        row = self._rows[self._order[place]]
        return self.row_of(row, decode_node(self._file.line(row.offset)))

    def row_of(self, row: Row, node: Node) -> R:
        """Return what is shown of a node."""
        raise NotImplementedError


class DiscoveryList(_IndexedRows[DiscoveryRow]):
    """Open discoveries of one moment, by priority, then oldest first."""

    def places(self, most: int) -> list[int]:
        """Return the offsets of the first `most` lines in the journal, in the order of the list."""
        return [self._rows.offset(number) for number in self._order[:most]]

    def row_of(self, row: Row, node: Node) -> DiscoveryRow:
        return DiscoveryRow(node=node, created=row.created)


class DecayList(_IndexedRows[DecayForecast]):
    """Active, unprotected nodes of one moment, the next to be archived first."""

    def __init__(self, file: OpenFile, rows: RowTable, order: Sequence[int], rule: DecayRule, now: float) -> None:
        super().__init__(file, rows, order)
        self._rule = rule
        self._now = now

    def row_of(self, row: Row, node: Node) -> DecayForecast:
        return DecayForecast(
            node_id=node.id,
            title=node.title,
            score=decay.score(self._now - row.touched, self._rule),
            fades_at=decay.fades_at(row.touched, self._rule),
            touched=row.touched,
            kind=node.type,
            wu_id=node.wu_id,
        )


class NodeList(_IndexedRows[NodeRow]):
    """Nodes that do not decay, each with the reason."""

    def row_of(self, row: Row, node: Node) -> NodeRow:
        protected = row.protection and not row.status  # a status other than 0 is not active
        return NodeRow(node, row.touched, PROTECTIONS[row.protection - 1] if protected else archive_reason(node))


def archive_reason(node: Node) -> str:
    """Return why a node was archived, as its record says; empty where it does not."""
    score = node.metadata.get("decay")
    reason = node.metadata.get("archive_reason") or (score.get("reason") if isinstance(score, dict) else "")
    return reason if isinstance(reason, str) else ""
