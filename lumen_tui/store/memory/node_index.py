"""The memory journal as columns: what lists, counts and decay need of 100,000 nodes, without holding the nodes.

About 150 bytes a node with its id; contents are read from disk when they are shown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from lumen_tui.model import decay, times
from lumen_tui.model.decay import BINS, PROTECTIONS, Aging, DecayForecast, DecayRule, DecayView
from lumen_tui.model.decoding import UNDECODABLE, decoded, lazy_decoder
from lumen_tui.model.records import (
    LIFECYCLE_BY_TYPE,
    NODE_TYPES,
    Node,
    NodeRow,
    Touch,
    decode_node,
    priority_rank,
)
from lumen_tui.storage.damage import Damage
from lumen_tui.storage.journal import PIECE, Follower
from lumen_tui.storage.kept import KeptIndex
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import OpenFile, split_lines
from lumen_tui.store.memory.node_orders import ARCHIVED, GONE, OPEN, NodeOrders, OpenDiscoveries
from lumen_tui.store.memory.node_rows import (
    DecayList,
    DiscoveryList,
    IdNumbers,
    NodeList,
    Row,
    RowTable,
)
from lumen_tui.store.memory.nodes import Raw

_VERSION = 1  # of the kept columns
_MANY = 2000  # changed rows from which sorting all is cheaper than moving each
_touch = lazy_decoder(Touch)


class _IndexedMeta(msgspec.Struct):
    status: str = ""
    priority: str = ""
    pinned: bool = False
    sensitive: bool = False
    snoozed_until: str = ""
    ended_at: str = ""
    summarized_into: str = ""


class _IndexedNode(msgspec.Struct):
    """The fields of a node that the index needs."""

    id: str
    type: str = "note"
    lifecycle: str = ""
    created_at: str = ""
    metadata: _IndexedMeta | None = None


_slim = lazy_decoder(_IndexedNode)


class NodeIndex:
    """Follows memory.jsonl and touches.jsonl, with `ends` up to these offsets alone. The last line of an id wins."""

    def __init__(self, layout: Layout, ends: Mapping[Path, int] | None = None) -> None:
        self._follower = Follower(layout.memory, ends[layout.memory] if ends else None)
        self._touches = Follower(layout.touches, ends[layout.touches] if ends else None)
        self._partly = ends is not None  # what is kept is of whole journals
        self.damage = Damage("memory/memory.jsonl", self._follower)
        self.revision = 0
        followers = {"nodes": self._follower, "touches": self._touches}
        self.kept = KeptIndex(layout.index / "nodes.columns", _VERSION, followers)
        self._begun = False
        self._clear()

    def _clear(self) -> None:
        self._rows = RowTable()
        self._number = IdNumbers()
        self._touched: dict[str, float] = {}  # touches of nodes not yet seen
        self._file: OpenFile | None = None
        self._orders = NodeOrders()
        self._changed: list[tuple[int, Row | None, Row]] = []
        self._unsorted = False

    def close(self) -> None:
        """Close the journals. Rows that were handed out can still be read."""
        self._follower.close()
        self._touches.close()
        self._file = None

    def changed(self) -> bool:
        """Return whether a refresh would find something. Costs two `stat` calls."""
        return self._follower.pending() or self._touches.changed()

    @property
    def share(self) -> float:
        """The share of the journal that was read, 0 to 1."""
        unread = self._follower.pending() and self._follower.size > 0
        return self._follower.offset / self._follower.size if unread else 1.0

    def __len__(self) -> int:
        return len(self._rows)

    def refresh(self) -> bool:
        """Read the next part of what is new; return whether there is more. The first call begins with what is kept."""
        if not self._begun:
            self._restore()
        generation = self._follower.generation
        before = self._follower.offset
        offset, data = self._follower.poll(PIECE)
        if self._follower.generation != generation:
            self._clear()
            self._touches.start_over()
        if data:
            self._take(offset, data)
        self._take_touches()
        self._resort(loaded=self._follower.offset >= self._follower.size)
        self.revision += 1
        more = self._follower.offset != before and self._follower.offset < self._follower.size
        if not more and not self._unsorted and not self._partly and self.kept.due():
            self._keep()
        return more

    @property
    def open(self) -> OpenDiscoveries:
        """The open discoveries."""
        return self._orders.open

    def _restore(self) -> None:
        """Take over what an earlier process kept, as far as the journals still begin with it."""
        self._begun = True
        stored = None if self._partly else self.kept.load()
        if stored is None:
            return
        self._rows.restore(stored.columns, stored.values["snoozed"])
        self._number.restore(stored.columns)
        self._orders.restore(stored.columns, stored.values["counts"], self._rows)
        self._touched = dict(stored.values["touched"])
        self.damage.restore(stored.values["damage"])
        if self._follower.offset:
            self._file = OpenFile(self._follower.open_copy())

    def _keep(self) -> None:
        columns = {**self._rows.columns(), **self._number.columns(), **self._orders.columns()}
        values = {
            "snoozed": self._rows.snooze_dates(),
            "touched": self._touched,
            "counts": self._orders.counts(),
            "damage": self.damage.values(),
        }
        self.kept.save(values, columns)

    def _take(self, base: int, data: bytes) -> None:
        if self._file is None:
            self._file = OpenFile(self._follower.open_copy())
        for offset, line in split_lines(data, base):
            try:
                self._put(offset, _read(line))
            except UNDECODABLE as error:
                self.damage.add(offset, str(error))

    def _put(self, offset: int, slim: _IndexedNode) -> None:
        number = self._number.give(slim.id)
        old = self._rows[number] if number < len(self._rows) else None
        row = _row(offset, slim)
        touched = old.touched if old else self._touched.pop(slim.id, 0.0)
        if touched > row.touched:
            row = msgspec.structs.replace(row, touched=touched)
        if old is None:
            self._rows.append(row)
        else:
            self._rows[number] = row
        self._changed.append((number, old, row))

    def _take_touches(self) -> None:
        for offset, data in self._touches.pieces():
            for _, line in split_lines(data, offset):
                try:
                    self._touch(_touch.decode(line))
                except UNDECODABLE:
                    continue

    def _touch(self, touch: Touch) -> None:
        at = times.epoch(touch.at)
        number = self._number.get(touch.node_id)
        if number is None:
            self._touched[touch.node_id] = max(at, self._touched.get(touch.node_id, 0.0))
            return
        old = self._rows[number]
        if at > old.touched:
            self._rows[number] = row = msgspec.structs.replace(old, touched=at)
            self._changed.append((number, old, row))

    def _resort(self, *, loaded: bool) -> None:
        """Bring the orders up to date; after many changes at once, sort all as soon as everything is read."""
        changed = self._changed
        self._changed = []
        self._unsorted = self._unsorted or len(changed) > _MANY
        if self._unsorted:
            if loaded:
                self._unsorted = False
                self._orders.sort_all(self._rows)
            return
        for number, old, new in changed:
            if old is not None:
                self._orders.count(old, number, -1)
            self._orders.count(new, number, +1)

    def discoveries(self, now: float) -> DiscoveryList | tuple[()]:
        """Return the open discoveries that are not snoozed, most urgent first."""
        if self._file is None:
            return ()
        return DiscoveryList(self._file, self._rows, self._orders.open.listed(now))

    def fading(self, rule: DecayRule, now: float) -> Sequence[DecayForecast]:
        """Return the active, unprotected nodes, the next to be archived first."""
        if self._file is None:
            return ()
        return DecayList(self._file, self._rows, self._orders.by_age.rows[:], rule, now)

    def listing(self, kind: str) -> Sequence[NodeRow]:
        """Return the nodes that do not decay, the last changed first: the `archived` or the `protected` ones."""
        if self._file is None:
            return ()
        archived = kind == "archived"
        order = self._rows.select(ARCHIVED) if archived else self._rows.protected(OPEN)
        order.sort(key=self._rows.offset, reverse=True)
        return NodeList(self._file, self._rows, order)

    def decay_view(self, rule: DecayRule, now: float) -> DecayView:
        """Return counts and histogram of decay. Every count is a binary search over the ages."""
        life = rule.life_days * times.DAY
        protected = sum(self._orders.by_protection[1:])
        due = self._orders.by_age.below(now - life)
        edges = [self._orders.by_age.below(_touched_at_bin(edge, rule, now)) for edge in range(BINS + 1)]
        edges[0] = len(self._orders.by_age)
        edges[BINS] = 0
        return DecayView(
            rule=rule,
            active=len(self._orders.by_age) + protected,
            protected=protected,
            pinned=self._orders.pinned,
            archived=self._orders.archived,
            due=due,
            within_week=self._orders.by_age.below(now - life + 7 * times.DAY) - due,
            histogram=tuple(edges[i] - edges[i + 1] for i in range(BINS)),
            kept=tuple(self._orders.by_protection[1:]),
        )


def _touched_at_bin(edge: int, rule: DecayRule, now: float) -> float:
    """Return when a node was touched whose score is now at the lower edge of the first `edge` bins."""
    value = 1.0 - (1.0 - rule.threshold) * edge / BINS
    share = decay.DecayRule(rule.half_life_days, value).life_days if value < 1 else 0.0
    return now - share * times.DAY


def _read(line: bytes) -> _IndexedNode:
    """Return the index fields of a line. Raises UNDECODABLE where it holds no node."""
    try:
        return _slim.decode(line)
    except msgspec.ValidationError:
        node = decode_node(line)
        if not node.id:
            raise
        return _slim_of(node)


def _slim_of(node: Node) -> _IndexedNode:
    """Return the index fields of a node whose metadata has values of unexpected types."""
    texts = ("status", "priority", "snoozed_until", "ended_at", "summarized_into")
    meta: dict[str, object] = {name: value for name in texts if isinstance(value := node.metadata.get(name), str)}
    meta.update({name: node.metadata.get(name) is True for name in ("pinned", "sensitive")})
    return _IndexedNode(
        id=node.id,
        type=node.type,
        lifecycle=node.lifecycle,
        created_at=node.created_at,
        metadata=msgspec.convert(meta, _IndexedMeta),
    )


def _row(offset: int, slim: _IndexedNode) -> Row:
    meta = slim.metadata or _IndexedMeta()
    kind = slim.type if slim.type in NODE_TYPES else "note"
    created = times.epoch(slim.created_at)
    status = OPEN if meta.status in ("", "open") and not meta.summarized_into else GONE
    protection = decay.protection(
        node_type=kind,
        lifecycle=slim.lifecycle or LIFECYCLE_BY_TYPE[kind],
        status=meta.status or "open",
        pinned=meta.pinned,
        sensitive=meta.sensitive,
        active=not meta.ended_at,
    )
    return Row(
        offset=offset,
        created=created,
        touched=created,
        status=ARCHIVED if meta.status == "archived" else status,
        discovery=kind == "discovery",
        rank=priority_rank(meta.priority),
        pinned=meta.pinned,
        protection=1 + PROTECTIONS.index(protection) if protection else 0,
        snoozed_until=times.epoch(meta.snoozed_until) if meta.snoozed_until else 0.0,
    )


class AgeIndex(NodeIndex):
    """Active, unprotected nodes by their last touch."""

    def load(self) -> AgeIndex:
        """Read the journals to their end."""
        while self.refresh():
            pass
        return self

    def count_untouched(self, moment: float) -> int:
        """Return how many nodes were last touched before `moment`."""
        return self._orders.by_age.below(moment)

    def untouched_since(self, moment: float, most: int | None = None) -> list[Aging]:
        """Return the nodes last touched before `moment`, or the first `most` of them, the longest ago first."""
        end = bisect_left(self._orders.by_age.keys, moment)
        end = end if most is None else min(end, most)
        ages = zip(self._orders.by_age.keys[:end], self._orders.by_age.rows[:end], strict=True)
        return [Aging(self._name(number), touched) for touched, number in ages]

    def _name(self, number: int) -> str:
        assert self._file is not None  # noqa: S101 - there are rows only with a file
        return _read(self._file.line(self._rows[number].offset)).id

    def records(self, rows: list[Aging]) -> Iterator[tuple[Aging, Raw]]:
        """Yield each row with its newest record from the journal; records that cannot be decoded are skipped."""
        for row in rows:
            number = self._number.get(row.node_id)
            if self._file is None or number is None:
                return
            if record := decoded(self._file.line(self._rows[number].offset)):
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
