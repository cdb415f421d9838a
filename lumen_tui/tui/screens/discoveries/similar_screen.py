"""Open discoveries that resemble one of them, to be decided together: who is in is seen first, and can be changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual.binding import Binding, BindingType

from lumen_tui.engine.port import Port
from lumen_tui.model.listings import Alike
from lumen_tui.model.records import Node
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.kit.cells import Cell, line
from lumen_tui.tui.kit.jobs import Loader
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.rows_sheet import ListSheet, Rows, appearance_of
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.theme import Appearance


class Verdict(NamedTuple):
    """What is to be done with which discoveries; `action` is promote, archive or later."""

    action: str
    node_ids: tuple[str, ...]


class AlikeRows(Rows[Alike]):
    """Likeness, priority, title, work unit, age."""

    def __init__(self, look: Appearance, node_id: str, now: float) -> None:
        super().__init__(look, now)
        self._node_id = node_id

    def key(self, row: Alike) -> str:
        return row.node_id

    def line(self, row: Alike, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, dash = self.look.ink, self.look.shapes.dash
        itself = row.node_id == self._node_id
        text = ink.strong if selected else ink.text if marked else ink.muted
        cells = (
            Cell("this" if itself else f"{row.score} %", ink.accent if row.sure else ink.muted, 5, right=True),
            Cell(row.priority or dash, text, 2),
            Cell(row.title, text),
            *((Cell(" ".join(row.tags) or dash, ink.muted, 22),) if width >= 90 else ()),
            Cell(row.wu_id or dash, ink.muted, 7),
            Cell(words.age(self.now - row.created) if row.created else "", ink.muted, 6, right=True, gap=1),
        )
        return line(width, cells)

    def words(self, row: Alike) -> str:
        return f"{row.title} {' '.join(row.tags)} {row.wu_id} {row.node_id}"

    def fields(self, row: Alike) -> dict[str, str]:
        return {"tag": " ".join(row.tags), "wu": row.wu_id, "p": row.priority, "priority": row.priority}


class SimilarScreen(ListSheet[Verdict, Alike]):
    """Answers what is to be done with the marked ones. Those that are surely alike are marked at first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "decide('promote')", show=False),
        Binding("a", "decide('archive')", show=False),
        Binding("l", "decide('later')", show=False),
    ]
    EMPTY = "Looking for discoveries like this one."

    def __init__(self, port: Port, node: Node, now: float) -> None:
        super().__init__(f"Like {one_line(node.title, 80)}")
        self._node = node
        self._now = now
        self._loader: Loader[Sequence[Alike]] = Loader(self, lambda: port.similar(node.id), self._found)

    def rows_view(self) -> AlikeRows:
        return AlikeRows(appearance_of(self.app), self._node.id, self._now)

    def keys(self) -> Keys:
        verdicts = (("p", "promote"), ("a", "archive"), ("l", "later"))
        return (*verdicts, ("space", "in or out"), ("*", "all or none"), ("/", "filter"), ("esc", "back"))

    def on_mount(self) -> None:
        super().on_mount()
        self._loader.load()

    def _found(self, rows: Sequence[Alike]) -> None:
        if not rows:
            self.rows.empty = "This one is judged already, or stands behind the 5 000 that are compared."
            self.rows.refresh_changed()
            return
        self.rows.marks.keys = {row.node_id: None for row in rows if row.sure}
        self.fill(rows, self.heading)
        if len(rows) == 1:
            self.say("No other open discovery is like this one.")

    def on_line_list_highlighted(self, _event: LineList.Highlighted) -> None:
        count = len(self.rows.model)
        self.retitle(self.heading, f"{len(self.rows.marks.keys)} of {count} marked" if count else "")

    def action_decide(self, action: str) -> None:
        marked = tuple(self.rows.marks.keys)
        if marked:
            self.dismiss(Verdict(action, marked))
        else:
            self.say("Nothing is marked: space takes a row in, * takes all.", bad=True)
