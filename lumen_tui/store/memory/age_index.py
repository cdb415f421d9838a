"""The node index seen by age: what decay and retention may archive, the same rows that the decay pane counts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.forecast import Aging
from lumen_tui.store.memory.node_index import NodeIndex
from lumen_tui.store.memory.nodes import Raw


class _Named(msgspec.Struct):
    id: str


_id = msgspec.json.Decoder(_Named)


class AgeIndex(NodeIndex):
    """Active, unprotected nodes by their last touch."""

    def load(self) -> AgeIndex:
        """Read the journals to their end."""
        while self.refresh():
            pass
        return self

    def untouched_since(self, moment: float) -> list[Aging]:
        """Return the nodes last touched before `moment`, the longest ago first."""
        end = bisect_left(self._fading.keys, moment)
        ages = zip(self._fading.keys[:end], self._fading.rows[:end], strict=True)
        return [Aging(self._name(number), touched) for touched, number in ages]

    def _name(self, number: int) -> str:
        assert self._file is not None  # noqa: S101 - there are rows only with a file
        return _id.decode(self._file.line(self._rows[number].offset)).id

    def records(self, rows: list[Aging]) -> Iterator[tuple[Aging, Raw]]:
        """Yield each row with its newest record from the journal; records that cannot be decoded are skipped."""
        for row in rows:
            number = self._number.get(row.node_id)
            if self._file is None or number is None:
                return
            try:
                record = msgspec.json.decode(self._file.line(self._rows[number].offset))
            except UNDECODABLE:
                continue
            if isinstance(record, dict):
                yield row, record

    def protects(self, node_id: str) -> bool:
        """Return whether decay and retention must leave this node alone; True for unknown ones."""
        number = self._number.get(node_id)
        return number is None or self._rows[number].protected

    def touched(self, node_id: str) -> float:
        """Return when a node was last touched, in seconds since 1970; 0 where that is unknown."""
        number = self._number.get(node_id)
        return 0.0 if number is None else self._rows[number].touched

    def still_touched_at(self, expected: Mapping[str, float]) -> bool:
        """Return whether nobody has touched any of these nodes since; cheap where nothing was touched at all."""
        if not self._touches.changed():
            return True
        self.load()
        return all(self.touched(node_id) == touched for node_id, touched in expected.items())
