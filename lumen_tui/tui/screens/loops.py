"""What was before: the list of loops with the packet and capsule of each, and what happened since the last visit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.segment import Segment

from lumen_tui.engine.port import Port
from lumen_tui.model import capsule as capsules
from lumen_tui.model import digest as digest_words
from lumen_tui.model import packets as packet_words
from lumen_tui.model import times
from lumen_tui.model.agent import task_id
from lumen_tui.model.digest import Digest, DigestEntry, Group
from lumen_tui.model.loop import Packet
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import humanize
from lumen_tui.queries import loop_history
from lumen_tui.queries.loop_history import PacketIndex, PacketRows
from lumen_tui.storage.layout import Layout
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.screen import DetailScreen, Keys, note
from lumen_tui.tui.kit.sheets import ListSheet, LoadedSheet, ReadingScreen, Rows, chosen_row, count_to, fill
from lumen_tui.tui.screens.lineage import WhyScreen
from lumen_tui.tui.theme import Appearance

_PLOTTED = 24  # loops in the sparkline
_WIDE = 100  # cells from which a row has room for the sizes


class PacketListRows(Rows[Packet]):
    """Number, age, what came of it, how long it took to find its bearings, what it cost."""

    def key(self, row: Packet) -> str:
        return row.id

    def line(self, row: Packet, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, orientation = self.look.ink, row.orientation
        bad = packet_words.state(row) != "ok"
        duration = times.span(orientation.seconds) if orientation.first else ""
        cells = [
            Cell(str(row.loop or "?"), ink.strong if selected else ink.text, 6, right=True),
            Cell(words.age(self.now - times.epoch(row.completed_at, self.now)), ink.muted, 7, right=True),
            Cell(packet_words.state(row), ink.bad if bad else ink.muted, 8),
            Cell(humanize(packet_words.outcome(row)), ink.bad if row.failed else ink.strong if selected else ink.text),
        ]
        if width >= _WIDE:
            read = f"{words.kilo(orientation.tokens)} read" if orientation.tokens else ""
            cells.append(Cell(read, ink.muted, 11, right=True))
        if duration or width >= _WIDE:
            cells.append(Cell(f"in {duration}" if duration else "", ink.muted, 11, right=True))
        return line(width, [*cells, Cell(words.money(row.usage.usd), ink.muted, 7, right=True)])

    def more(self, row: Packet, width: int) -> list[Segment]:
        """Return what the loop left out, with the reason: it is what is looked for most."""
        both = (("abandoned", row.abandoned), ("decided against", row.decided_against))
        omissions = [f"{how} {omission.what}: {omission.why}" for how, items in both for omission in items]
        text = f" {self.look.shapes.sep} ".join(omissions) or "nothing was dropped"
        return line(width, [Cell("", self.look.ink.muted, 6), Cell(humanize(text), self.look.ink.muted)])

    def words(self, row: Packet) -> str:
        omissions = (f"{omission.what} {omission.why}" for omission in (*row.abandoned, *row.decided_against))
        products = (f"{product.title} {product.path}" for product in row.made)
        return " ".join(
            [
                f"loop {row.loop}",
                packet_words.outcome(row),
                *row.came_in,
                *row.ordered,
                *row.decided,
                *products,
                *omissions,
                row.id,
            ]
        )

    def fields(self, row: Packet) -> dict[str, str]:
        age = f"{self.now - times.epoch(row.completed_at):.0f}"
        return {"loop": str(row.loop), "state": packet_words.state(row), "brain": row.brain, "id": row.id, "age": age}


class PacketsScreen(LoadedSheet[Packet, tuple[PacketRows, Sequence[Packet]]]):
    """Every packet, newest first, read from disk when it is seen. `at`: the loop under the cursor at first."""

    SCOPE = "packets"
    OF_ROWS = frozenset({"loop_capsule"})
    EMPTY = "No loop has ended yet: the main agent wakes when there is something for it, such as a signal."
    TWO_LINES = True

    def __init__(self, port: Port, snapshot: Snapshot, at: int = 0) -> None:
        super().__init__("Packets", snapshot.taken, self._read)
        self._port, self._at = port, at
        self._layout = Layout(Path(snapshot.root))
        self._index = PacketIndex(self._layout)

    def _read(self) -> tuple[PacketRows, Sequence[Packet]]:
        """Called in a thread."""
        rows = self._index.refresh()
        return rows, rows[:_PLOTTED]

    def rows_view(self) -> PacketListRows:
        return PacketListRows(appearance_of(self.app), self._now)

    def keys(self) -> Keys:
        return (*self.offer("loop_capsule"), *super().keys())

    def _loaded(self, packets: tuple[PacketRows, Sequence[Packet]]) -> None:
        rows, newest = packets
        fill(self, rows, f"Packets: {words.plural(len(rows), 'loop')}", oriented(newest, appearance_of(self.app)))
        if self._at:
            place = next((at for at in range(min(len(rows), _PLOTTED)) if rows[at].loop == self._at), None)
            if place is not None:
                self.rows.select_key(rows[place].id)
            self._at = 0

    def opened(self, row: Packet) -> None:
        self.app.push_screen(PacketSheet(self._port, str(self._layout.root), row, self._now))

    def action_why(self) -> None:
        if row := self._of_a_loop():
            self.app.push_screen(WhyScreen(self._port, task_id(row.loop), self._now))

    def action_capsule(self) -> None:
        if row := self._of_a_loop():
            self.run_worker(show_capsule(self, self._layout, row.loop), group="capsule", exclusive=True)

    def _of_a_loop(self) -> Packet | None:
        row = chosen_row(self)
        if row is not None and row.loop < 1:
            self.say("This packet does not name its loop.", bad=True)
            return None
        return row


def oriented(newest: Sequence[Packet], look: Appearance) -> str:
    """`orientation ▂▃▂ median 14 s`, the oldest first; empty where none was measured."""
    seconds = [packet.orientation.seconds for packet in newest if packet.orientation.first]
    if not seconds:
        return ""
    middle = times.span(packet_words.orientation_median(newest))
    chart = f"{packet_words.sparkline(seconds[::-1], look.shapes.levels)} " if look.shapes.levels else ""
    return f"orientation {chart}median {middle}"


async def show_capsule(screen: DetailScreen[None], layout: Layout, loop: int) -> None:
    """Open what a loop woke with."""
    capsule = await looked(screen, loop_history.read_capsule, layout, loop)
    if capsule is None:
        text = f"The capsule of loop {loop} is not kept; [capsule] keep says how many are."
        note(screen, text)
        return
    facts: list[Fact] = [("tokens", f"about {words.number(capsule.tokens)} of {words.number(capsule.budget)}")]
    facts += [("cut", text) for text in capsules.report(capsule)]
    screen.app.push_screen(ReadingScreen(f"Capsule of loop {loop}", humanize(capsules.render(capsule)), facts))


class PacketSheet(ReadingScreen[None]):
    """One packet whole. `root` is the state folder."""

    SCOPE = "packet"

    def __init__(self, port: Port, root: str, packet: Packet, now: float) -> None:
        head, *sections = packet_words.sections(packet)
        text = "\n\n".join("\n".join([title, *(f"  {item}" for item in lines)]) for title, lines in sections)
        ended = times.epoch(packet.completed_at)
        facts: list[Fact] = [
            ("ended", times.dated(ended, now)),
            *(("", line) for line in head[1]),
            ("packet", packet.id),
        ]
        facts += [("task", packet.task_id)] if packet.task_id else []
        super().__init__(head[0], humanize(text), facts)
        self._port, self._layout, self._packet, self._now = port, Layout(Path(root)), packet, now

    def keys(self) -> Keys:
        return (*self.offer("why", "loop_capsule"), *super().keys())

    def action_why(self) -> None:
        if self._packet.loop > 0:
            self.app.push_screen(WhyScreen(self._port, task_id(self._packet.loop), self._now))

    def action_capsule(self) -> None:
        self.run_worker(show_capsule(self, self._layout, self._packet.loop), group="capsule", exclusive=True)


_BAD = frozenset({"failed", "drift"})
_TITLES_WIDE = 90  # columns from which titles stand in full


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
        wide = width >= _TITLES_WIDE
        name = row.group.title if wide else digest_words.SHORT.get(row.group.name, row.group.title)
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

    def show(self, snapshot: Snapshot) -> None:
        """Keep what is shown: it is of the time until it was opened."""

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
            more = f"and {words.number(hidden)} more: {digest_words.words(group)} in all"
            yield DigestRow(group, DigestEntry(0.0, more), len(group.entries))
