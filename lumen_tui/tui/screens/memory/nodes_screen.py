"""Nodes that do not fade: the archived ones, to bring back, and the protected ones, with what protects them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.binding import Binding, BindingType

from lumen_tui.engine.port import Port
from lumen_tui.model import ids, times
from lumen_tui.model.humanize import humanize
from lumen_tui.model.listings import NodeRow
from lumen_tui.tui import words
from lumen_tui.tui.kit import jobs
from lumen_tui.tui.kit.cells import Cell, line
from lumen_tui.tui.kit.loaded_sheet import LoadedSheet
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.reader import ReadingScreen
from lumen_tui.tui.kit.rows_sheet import Rows, appearance_of
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.timestamps import moment
from lumen_tui.tui.screens.memory.node_detail import node_text


class NodeRows(Rows[NodeRow]):
    """Type, title, why, and how long ago it was touched."""

    widest = 34  # cells of the longest why, at most as many; the title has the rest

    def key(self, row: NodeRow) -> str:
        return row.node.id

    def line(self, row: NodeRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        cells = (
            Cell(row.node.type, ink.muted, 10),
            Cell(row.node.title, ink.strong if selected else ink.text),
            Cell(humanize(row.why), ink.muted, min(self.widest, width * 2 // 5)),
            Cell(words.age(self.now - row.touched) if row.touched else "", ink.muted, 7, right=True, gap=1),
        )
        return line(width, cells)

    def words(self, row: NodeRow) -> str:
        return f"{row.node.title} {row.why} {' '.join(row.node.tags)} {row.node.id}"

    def fields(self, row: NodeRow) -> dict[str, str]:
        node = row.node
        return {
            "type": node.type, "why": row.why, "tag": " ".join(node.tags), "wu": node.wu_id, "id": node.id,
            "age": f"{self.now - row.touched:.0f}",
        }  # fmt: skip


class NodesScreen(LoadedSheet[NodeRow, Sequence[NodeRow]]):
    """One of the two lists. Rows are read from disk as they are seen."""

    WHY = True
    HEADING = ""
    KIND = ""
    NOUN = ""

    def __init__(self, port: Port, now: float, refusal: str = "") -> None:
        super().__init__(self.HEADING, now, lambda: port.listing(self.KIND))
        self._port = port
        self._refusal = refusal

    def rows_view(self) -> NodeRows:
        return NodeRows(appearance_of(self.app), self._now)

    def _loaded(self, rows: Sequence[NodeRow]) -> None:
        if isinstance(view := self.rows.view, NodeRows):
            view.widest = min(NodeRows.widest, max((cell_len(row.why) for row in rows), default=0) or -1)
        self.fill(rows, self.HEADING, words.plural(len(rows), self.NOUN))

    def acts(self, verb: tuple[str, str]) -> Keys:
        """The keys of a list with one verb."""
        return (*(() if self._refusal else (verb, ("space", "mark"))), *super().keys())

    def act(self, verb: str, node_ids: list[str], **arguments: bool) -> None:
        """Carry out an action on some rows, then list anew."""
        if self._refusal:
            self.say(self._refusal, bad=True)
        elif self.chosen():
            self.run_worker(self._act(verb, node_ids, arguments), group="act")

    async def _act(self, verb: str, node_ids: list[str], arguments: dict[str, bool]) -> None:
        if await jobs.submit(self, self._port, verb, node_ids=node_ids, **arguments):
            self.rows.marks.clear()
            self.load()

    def opened(self, row: NodeRow) -> None:
        node = row.node
        facts: list[Fact] = [
            ("why", humanize(row.why) or "not said"), ("touched", moment(row.touched, self._now)),
            ("created", moment(node.created, self._now)), ("changed", moment(times.epoch(node.updated_at), self._now)),
            ("by", node.created_by or "unknown"), ("work unit", node.wu_id or "none"),
            ("tags", " ".join(node.tags) or "none"), ("status", node.status), ("id", node.id),
        ]  # fmt: skip
        heading = f"{node.type.capitalize()} {ids.short(node.id)}"
        self.app.push_screen(ReadingScreen(heading, node_text(node), facts))


class ArchivedScreen(NodesScreen):
    """What was put away; b brings it back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("b", "bring_back", show=False)]
    HEADING, KIND, NOUN = "Archived", "archived", "archived node"
    EMPTY = "Nothing is archived."

    def keys(self) -> Keys:
        return self.acts(("b", "bring back"))

    def action_bring_back(self) -> None:
        self.act("node.unarchive", self.rows.targets())


class ProtectedScreen(NodesScreen):
    """What decay leaves alone; x takes a pin off."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("x", "unpin", show=False)]
    HEADING, KIND, NOUN = "Protected", "protected", "protected node"
    EMPTY = "Nothing is protected."

    def keys(self) -> Keys:
        return self.acts(("x", "unpin"))

    def action_unpin(self) -> None:
        row = self.rows.selected
        if row is not None and not self.rows.marks.keys and not row.node.pinned:
            self.say(f"This one is not pinned: it is kept as {row.why}.", bad=True)
            return
        self.act("decay.pin", self.rows.targets(), pinned=False)
