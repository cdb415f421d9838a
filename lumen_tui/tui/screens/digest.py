"""What happened since the operator last looked: grouped, newest first in each group, enter goes there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rich.segment import Segment

from lumen_tui.model import digest as shape
from lumen_tui.model.digest import Digest, DigestEntry, Group
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import humanize
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.cells import Cell, line
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import ListSheet, LoadedSheet, Rows, count_to, fill

_BAD = frozenset({"failed", "drift"})
_WIDE = 90  # columns from which titles stand in full


class DigestRow(NamedTuple):
    """One entry; the first of a group names it."""

    group: Group
    entry: DigestEntry
    place: int  # in the group


class DigestRows(Rows[DigestRow]):
    """The group, how long ago, what."""

    def key(self, row: DigestRow) -> str:
        return f"{row.group.name} {row.place}"

    def line(self, row: DigestRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, bad = self.look.ink, row.group.name in _BAD
        wide = width >= _WIDE
        name = row.group.title if wide else shape.SHORT.get(row.group.name, row.group.title)
        title = f"{name} {words.number(row.group.count)}" if row.place == 0 else ""
        age = words.age(self.now - row.entry.at) if row.entry.at else ""
        text = ink.strong if selected else ink.bad if bad else ink.text if row.entry.target else ink.muted
        cells = (
            Cell(title, ink.bad if bad else ink.accent, 30 if wide else 18),
            Cell(age, ink.muted, 6, right=True),
            Cell(humanize(row.entry.text), text),
        )
        return line(width, cells)

    def words(self, row: DigestRow) -> str:
        return f"{row.group.title} {row.entry.text} {row.entry.target}"

    def fields(self, row: DigestRow) -> dict[str, str]:
        age = f"{self.now - row.entry.at:.0f}"
        return {"group": row.group.name, "kind": row.entry.kind, "id": row.entry.target, "age": age}


class DigestScreen(LoadedSheet[DigestRow, Digest]):
    """`read` makes the digest. `go` carries the operator to what a row is about."""

    EMPTY = "Nothing happened since you left."

    def __init__(self, read: Callable[[], Digest], go: Callable[[ListSheet[None, DigestRow], DigestRow], None]) -> None:
        super().__init__("Since you left", 0.0, read)
        self._go = go

    def rows_view(self) -> DigestRows:
        return DigestRows(appearance_of(self.app))

    def keys(self) -> Keys:
        return (*self.offer("open"), *super().keys()[1:])

    def show(self, snapshot: Snapshot) -> None:
        """It tells of the time until it was opened."""

    def _loaded(self, digest: Digest) -> None:
        count_to(self.rows, digest.until)
        past = words.age(digest.until - digest.since)
        cost = f"{words.money(digest.usd)} spent on tasks" if digest.usd else ""
        heading = f"Last {past}" if digest.first else f"Since you left {past} ago"
        events = words.plural(digest.count, "event") if digest.count else "no changes"
        fill(self, list(_rows(digest)), f"{heading}: {events}", cost)

    def opened(self, row: DigestRow) -> None:
        self._go(self, row)


def _rows(digest: Digest) -> Iterator[DigestRow]:
    for group in digest.groups:
        for place, entry in enumerate(group.entries):
            yield DigestRow(group, entry, place)
        if (hidden := group.count - len(group.entries)) > 0:
            more = f"and {words.number(hidden)} more: {shape.words(group)} in all"
            yield DigestRow(group, DigestEntry(0.0, more), len(group.entries))
