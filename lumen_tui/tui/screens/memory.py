"""Nodes that do not decay, archived or protected, and the detail of any node."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from rich.cells import cell_len
from rich.segment import Segment

from lumen_tui.engine.port import Port
from lumen_tui.model import ids, times
from lumen_tui.model.records import Node, NodeRow
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.memory import PinNodes, UnarchiveNodes
from lumen_tui.model.text import humanize
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import LoadedSheet, ReadingScreen, Rows, act, chosen_row, fill

_SHOWN_ABOVE = ("status", "priority", "pinned")
_DATES = ("_at", "_until")  # how the names of dates in the metadata end


class NodeDetail(ReadingScreen[str]):
    """Answers the name of the command that was chosen: archive_node or pin."""

    SCOPE = "node"

    def __init__(self, node: Node, now: float, chain: Sequence[str] = ()) -> None:
        text = node_text(node, chain)
        super().__init__(f"{node.type.capitalize()} {ids.short(node.id)}", text, list(_facts(node, now)))
        self._node = node

    def keys(self) -> Keys:
        pin = "unpin" if self._node.pinned else "pin"
        return (*self.offer("node_archive", "node_pin", node_pin=pin), *super().keys())

    def action_choose(self, name: str) -> None:
        self.dismiss(name)


def node_text(node: Node, chain: Sequence[str] = ()) -> str:
    """Return what a node says, and the chain it stands in; a summary was put together by the program."""
    content = humanize(node.content) if node.type == "summary" else node.content
    return "\n".join([content, *(("", *map(humanize, chain)) if chain else ())])


def _facts(node: Node, now: float) -> Iterator[Fact]:
    yield "status", f"{node.status}{' · pinned' if node.pinned else ''}"
    yield "priority", node.priority or "none"
    yield "type", f"{node.type} · {node.lifecycle}"
    yield "tags", " ".join(node.tags) or "–"
    yield "created", times.dated(node.created, now)
    if node.updated_at:
        yield "changed", times.dated(times.epoch(node.updated_at), now)
    yield "by", node.created_by or "–"
    yield "work unit", node.wu_id or "–"
    yield "session", node.session_id or "–"
    yield "id", node.id
    for name, value in sorted(node.metadata.items()):
        if name not in _SHOWN_ABOVE:
            yield name[:24].replace("_", " "), _plain(name, value, now)


def _is_words(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _plain(name: str, value: object, now: float) -> str:
    if not isinstance(value, str):
        return humanize(", ".join(value) if _is_words(value) else json.dumps(value, ensure_ascii=False, default=str))
    when = times.epoch(value) if name.endswith(_DATES) else 0.0
    return times.dated(when, now) if when else humanize(value)


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
            "type": node.type,
            "why": row.why,
            "tag": " ".join(node.tags),
            "wu": node.wu_id,
            "id": node.id,
            "age": f"{self.now - row.touched:.0f}",
        }


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
        fill(self, rows, self.HEADING, words.plural(len(rows), self.NOUN))

    def acts(self, verb: str) -> Keys:
        """Return the keys of a list with one verb."""
        return (*(() if self._refusal else self.offer(verb, "mark")), *super().keys())

    def act(self, request: Request) -> None:
        """Carry out an action on some rows, then list again."""
        if self._refusal:
            self.say(self._refusal, bad=True)
        elif chosen_row(self):
            self.run_worker(act(self, self._port, request), group="act")

    def opened(self, row: NodeRow) -> None:
        node = row.node
        facts: list[Fact] = [
            ("why", humanize(row.why) or "not said"),
            ("touched", times.dated(row.touched, self._now)),
            ("created", times.dated(node.created, self._now)),
            ("changed", times.dated(times.epoch(node.updated_at), self._now)),
            ("by", node.created_by or "unknown"),
            ("work unit", node.wu_id or "none"),
            ("tags", " ".join(node.tags) or "none"),
            ("status", node.status),
            ("id", node.id),
        ]
        heading = f"{node.type.capitalize()} {ids.short(node.id)}"
        self.app.push_screen(ReadingScreen(heading, node_text(node), facts))


class ArchivedScreen(NodesScreen):
    """The archived nodes; a key brings them back."""

    SCOPE = "archived"
    OF_ROWS = frozenset({"archived_restore"})
    HEADING, KIND, NOUN = "Archived", "archived", "archived node"
    EMPTY = "Nothing is archived."

    def keys(self) -> Keys:
        return self.acts("archived_restore")

    def action_bring_back(self) -> None:
        self.act(UnarchiveNodes(node_ids=self.rows.targets()))


class ProtectedScreen(NodesScreen):
    """What decay leaves alone; x takes a pin off."""

    SCOPE = "protected"
    OF_ROWS = frozenset({"protected_unpin"})
    HEADING, KIND, NOUN = "Protected", "protected", "protected node"
    EMPTY = "Nothing is protected."

    def keys(self) -> Keys:
        return self.acts("protected_unpin")

    def action_unpin(self) -> None:
        row = self.rows.selected
        if row is not None and not self.rows.marks.keys and not row.node.pinned:
            self.say(f"This one is not pinned: it is protected as {row.why}.", bad=True)
            return
        self.act(PinNodes(node_ids=self.rows.targets(), pinned=False))
