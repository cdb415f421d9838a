"""What agents noticed on the way and nobody has judged yet, and the near double of the one under the cursor."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Protocol

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import Port
from lumen_tui.model import ids
from lumen_tui.model.records import PRIORITIES, DiscoveryRow, Node
from lumen_tui.model.snapshot import Revisions, Snapshot
from lumen_tui.model.triage import kind_of, kind_words, returned
from lumen_tui.storage.files import StoreError
from lumen_tui.tui import words
from lumen_tui.tui.kit.keys import bindings
from lumen_tui.tui.kit.line_list import LineList, step_past
from lumen_tui.tui.kit.lines import Cell, line, spread
from lumen_tui.tui.panes.base import Detail, Heads, Pane, PanedRoom, in_order, place_of, sorted_by
from lumen_tui.tui.panes.sorting import Sorting, SortOrder
from lumen_tui.tui.room_command import DISCOVERIES
from lumen_tui.tui.theme import Appearance


class Leaving:
    """Rows that an action was asked for and that are in their list yet: the cursor goes on before the disk answers."""

    def __init__(self, rows: LineList[Any]) -> None:
        self._rows = rows
        self.keys: set[str] = set()

    def take(self, keys: Iterable[str]) -> None:
        """Drop the marks and put the cursor on the next row that stays: these will go."""
        self.keys.update(keys)
        self._rows.marks.clear()
        step_past(self._rows, self.keys)

    def happened(self, keys: Collection[str]) -> None:
        """Forget the rows of an action that was carried out: the list is as it left it."""
        self.keys.difference_update(keys)
        self._rows.refresh_changed()

    def failed(self, keys: Collection[str]) -> None:
        """Keep the rows of an action that was refused; several are marked again."""
        self.keys.difference_update(keys)
        if len(keys) > 1:
            self._rows.marks.keys.update(dict.fromkeys(keys))
        self._rows.refresh_changed()


_PRIORITY, _WU, _AGE = 2, 7, 6


class DiscoveryPlace(Protocol):
    """Where discoveries are listed."""

    now: float
    snapshot: Snapshot
    leaving: Leaving

    @property
    def look(self) -> Appearance:
        """Colours and shapes to draw with."""

    @property
    def rows(self) -> LineList[Any] | None:
        """The list."""

    @property
    def kinds(self) -> int:
        """Cells of the column that says what sort of discovery each is; negative where there is none."""

    def lane(self, node: Node) -> str:
        """Return the lane of the work unit that a discovery was noticed on; empty where there is none."""

    def like(self, row: DiscoveryRow) -> tuple[str, int] | None:
        """Return the near double of a row (id and likeness in per cent), as far as one is known."""


def why_undecided(place: DiscoveryPlace) -> str:
    """Return why nothing can be decided here; the empty string where it can, be it after a decision on its way."""
    return "there are no open discoveries" if place.rows is None or place.rows.selected is None else ""


def to_merge(place: DiscoveryPlace) -> list[str]:
    """Ids of what would become one: the marked rows; a single one with the row under the cursor; its double."""
    row = place.rows.selected if place.rows is not None else None
    if place.rows is None or row is None:
        return []
    marked, here = list(place.rows.marks.keys), row.node.id
    if len(marked) > 1:
        return marked
    if marked and marked != [here]:
        return [here, *marked]
    like = place.like(row)
    return [here, like[0]] if like is not None else [here]


class DiscoveryRows:
    """How a discovery is drawn in a list."""

    def __init__(self, place: DiscoveryPlace) -> None:
        self._pane = place

    def key(self, row: DiscoveryRow) -> str:
        return row.node.id

    def line(self, row: DiscoveryRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        look, node = self._pane.look, row.node
        ink = look.ink
        leaves = node.id in self._pane.leaving.keys
        text = ink.faint if leaves else ink.strong if selected else ink.text
        loud = (node.priority == "P0" or selected) and text is not ink.faint
        cells = [
            Cell(node.priority or look.shapes.dash, ink.loud if loud else text, _PRIORITY),
            Cell(words.held(self._pane.snapshot.operators, node.id, node.title), text),
        ]
        kind = kind_of(node)
        cells += _kinds("" if kind == node.type else kind, ink.muted, self._pane.kinds)
        if width >= 52:
            cells.append(Cell(node.wu_id or look.shapes.dash, ink.muted, _WU))
        age = words.age(self._pane.now - row.created) if row.created else ""
        back = returned(node, self._pane.now)
        cells.append(Cell(age, ink.accent if back and not leaves else ink.muted, _AGE, right=True, gap=1))
        return line(width, cells)

    def more(self, row: DiscoveryRow, width: int) -> list[Segment]:
        ink, shapes = self._pane.look.ink, self._pane.look.shapes
        back = returned(row.node, self._pane.now)
        sorts = kind_words(row.node)[self._pane.kinds > 0 :]  # a column of its own has the first
        about = f" {shapes.sep} ".join((*sorts, *([back] if back else [])))
        left: list[tuple[str, Style]] = [(about, ink.muted)]
        like = self._pane.like(row)
        if like is None:
            return spread(width, left, [])
        return spread(width, left, [(f"  like {ids.short(like[0])}, {like[1]} %", ink.accent)])

    def words(self, row: DiscoveryRow) -> str:
        node = row.node
        return f"{node.title} {' '.join(node.tags)} {node.wu_id} {kind_of(node)} {node.id}"

    def fields(self, row: DiscoveryRow) -> Mapping[str, str]:
        node = row.node
        return {
            "id": node.id, "priority": node.priority, "p": node.priority, "wu": node.wu_id, "tag": " ".join(node.tags),
            "type": kind_of(node), "by": node.created_by, "lane": self._pane.lane(node),
            "age": f"{self._pane.now - row.created:.0f}",
        }  # fmt: skip


_KIND = 10


def _kinds(text: str, style: Style, width: int = _KIND) -> list[Cell]:
    return [Cell(text, style, width)] if width > 0 else []


class DiscoveriesPane(Pane):
    """Pane 5."""

    scope, number, name_shown = DISCOVERIES, 5, "Discoveries"
    nothing_now = "No open discoveries. Findings of workers appear here; from a shell: lumen-tui create"
    filter_hint = "filter: words, !without, lane:core tag:auth p:P1 wu:042 type:bug age:>7d"
    BINDINGS: ClassVar[list[BindingType]] = bindings(DISCOVERIES, "screen.do")

    def __init__(self) -> None:
        super().__init__()
        self._list: LineList[DiscoveryRow] = LineList(DiscoveryRows(self), empty=self.nothing_shown, two_lines=True)
        self._likes: dict[str, tuple[str, int] | None] = {}  # found so far, for this revision
        self._lanes: dict[str, str] = {}  # by work unit
        self.leaving = Leaving(self._list)
        self.promoted = ""  # the work unit that was made last
        self.sorting = Sorting(
            "priority",
            SortOrder("age", lambda row: row.created, falling=False),
            SortOrder("type", lambda row: kind_of(row.node), falling=False),
            SortOrder("work unit", lambda row: row.node.wu_id),
        )

    def compose(self) -> ComposeResult:
        yield Heads(self)
        yield self._list

    def revision(self, revisions: Revisions) -> object:
        return revisions.nodes, revisions.problems  # the latter moves with the work units as well: their lanes

    def fill(self) -> None:
        self._likes.clear()
        self._lanes = {unit.id: unit.lane for unit in self.snapshot.work}
        rows = self.snapshot.discoveries
        self._list.set_rows(in_order(self, rows))

    def lane(self, node: Node) -> str:
        """Return the lane of the work unit that a discovery was noticed on; empty where there is none."""
        return self._lanes.get(node.wu_id, "")

    @property
    def kinds(self) -> int:
        """Cells of the column that says what sort of discovery each is; negative where there is none."""
        return _KIND if self.zoomed else -1

    def like(self, row: DiscoveryRow) -> tuple[str, int] | None:
        """Return the near double of a row (id and likeness in per cent), as far as one is known."""
        return row.like or self._likes.get(row.node.id)

    def knows(self, node_id: str) -> bool:
        """Return whether it was looked for already."""
        return node_id in self._likes

    def learn(self, node_id: str, like: tuple[str, int] | None) -> None:
        """Show what was found, in the list and wherever the row stands in full."""
        self._likes[node_id] = like
        self._list.refresh_changed()
        self.tell()

    @on(LineList.Highlighted)
    def moved(self, event: LineList.Highlighted) -> None:
        """Follow the cursor."""
        self.recaption()
        self.tell(event)

    def subtitle_words(self) -> str:
        rows = self._list
        if rows.has_focus or rows.marks.keys or rows.filter_text:
            return " · ".join(part for part in (place_of(rows, "open"), sorted_by(self)) if part)
        counts = self.snapshot.discovery_counts
        first = next((f" · {name} {counts[name]}" for name in PRIORITIES if counts.get(name)), "")
        return f"{words.number(len(self.snapshot.discoveries))} open{first}" if self.snapshot.discoveries else ""

    def heads(self, width: int) -> list[Segment]:
        """Return the headings, in the columns of `DiscoveryRows.line`."""
        muted = self.look.ink.muted
        age = Cell("age", muted, _AGE, right=True, gap=1)
        return line(
            width,
            [Cell("", muted, _PRIORITY), Cell("title", muted), *_kinds("type", muted), Cell("unit", muted, _WU), age],
        )

    def short(self) -> tuple[str, bool]:
        return self.subtitle_words() or "none open", bool(self.snapshot.discovery_counts.get("P0"))

    def detail(self) -> Detail | None:
        row = self._list.selected
        if row is None:
            return None
        node = row.node
        near = self.like(row)
        lane = self.lane(node)
        like = f"{near[0]}, {near[1]} %" if near else ""
        work = f"{node.wu_id} in {lane}" if lane else node.wu_id
        facts = (
            ("priority", node.priority), ("type", kind_of(node)), ("tags", ", ".join(node.tags)),
            ("work unit", work), ("session", node.session_id), ("by", node.created_by),
            ("at", node.created_at), ("like", like),
        )  # fmt: skip
        return Detail(node.id, facts, node.content)


_REST = 0.15  # seconds without a move


class LikenessFinder:
    """Asks the port in a thread, and only about rows that were looked at."""

    def __init__(self, room: PanedRoom, port: Port) -> None:
        self._room = room
        self._port = port
        self._job: asyncio.Task[None] | None = None

    def look(self, pane: DiscoveriesPane) -> None:
        """The cursor of the discoveries may stand on another row."""
        row = pane.rows.selected if pane.rows is not None else None
        if not isinstance(row, DiscoveryRow) or self._room.current.scope != DISCOVERIES:
            return
        if row.like is not None or pane.knows(row.node.id):
            return
        if self._job is not None:
            self._job.cancel()
        self._job = asyncio.create_task(self._ask(pane, row.node.id))

    async def _ask(self, pane: DiscoveriesPane, node_id: str) -> None:
        await asyncio.sleep(_REST)
        try:
            found = await asyncio.to_thread(self._port.like, node_id)
        except (ActionError, StoreError):
            return  # a hint less; what is wrong with the folder is shown elsewhere
        pane.learn(node_id, found)
