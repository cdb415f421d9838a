"""What is asked about discoveries before they are promoted or merged, and the list of similar ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.engine.port import Port
from lumen_tui.model import ids, times
from lumen_tui.model.merging import first_to_stay, merged
from lumen_tui.model.records import Alike, Node
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.fields import Offers, TextField
from lumen_tui.tui.kit.jobs import Loader
from lumen_tui.tui.kit.keys import key_of, pair_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.screen import Dialog, FormScreen, Invalid, Keys, form_keys, retitle, row
from lumen_tui.tui.kit.sheets import ListSheet, Rows, fill
from lumen_tui.tui.theme import Appearance


class PromoteForm(FormScreen[dict[str, str]]):
    """Answers with `lane` and `title`. A lane may be taken from the known ones or typed; `lane` stands there at first.

    With a `count` above 1 the form is for several discoveries, and each keeps its title.
    """

    SEND = "promote"

    def __init__(self, node: Node, lanes: tuple[str, ...], lane: str = "", count: int = 1) -> None:
        super().__init__("Promote to a work unit" if count == 1 else f"Promote {count} discoveries to work units")
        self._node = node
        self._lanes = lanes
        self._lane = lane or (lanes[0] if len(lanes) == 1 else "")
        self._count = count

    def keys(self) -> Keys:
        return form_keys(self, pair_of(self, "offer_previous", "offer_next", "a known lane"), *self.offer("form_next"))

    def rows(self) -> Iterable[Widget]:
        offers = Offers(self._lanes, id="lane", value=self._lane, placeholder="a stream of work, such as Core")
        yield row("lane", offers)
        if self._count == 1:
            yield row("title", TextField(one_line(self._node.title, 200), id="title"))

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#lane", TextField).select_all()  # to type another lane is to replace this one

    def preview(self) -> Content:
        node = self._node
        lane = self.query_one("#lane", TextField).text
        new = " · a new lane" if lane and lane not in self._lanes else ""
        if self._count > 1:
            return Content(
                f"{self._count} work units{new} · the discoveries are closed and linked; undo reverts it all"
            )
        noticed = f" · noticed on {one_line(node.wu_id, 20)}" if node.wu_id else ""
        return Content(f"{node.priority or 'P2'}{noticed}{new} · the discovery is closed and linked; undo reverts it")

    def read(self) -> dict[str, str]:
        lane = self.query_one("#lane", TextField).text
        title = self.query_one("#title", TextField).text if self._count == 1 else self._node.title
        if not lane:
            arrows, _ = pair_of(self, "offer_previous", "offer_next", "")
            raise Invalid(f"Choose a known lane with {arrows} or type a new one.", "lane")
        if not title:
            raise Invalid("Give a title: the work unit is found by it.", "title")
        try:
            return {"lane": ids.check_label(lane, "lane"), "title": title}
        except ids.BadId as error:
            raise Invalid(f"The {error}.", "lane") from error


class TitleForm(FormScreen[str]):
    """Answers with another title of a discovery; the text below it stays."""

    SEND = "save"

    def __init__(self, node: Node) -> None:
        super().__init__("Title of the discovery")
        self._node = node

    def rows(self) -> Iterable[Widget]:
        yield row("title", TextField(one_line(self._node.title, 200), id="title"))

    def read(self) -> str:
        if title := self.query_one("#title", TextField).text:
            return title
        raise Invalid("Give a title: the discovery is found by it.", "title")


_TEXT = 300  # characters of a body


class MergeConfirm(Dialog[tuple[str, tuple[str, ...]]]):
    """Answers the id of the one that stays and those of the others."""

    SCOPE = "merge"

    def __init__(self, nodes: Sequence[Node], stays: str, now: float) -> None:
        """`stays` is the id of the one that is offered to stay; empty for the most urgent one."""
        super().__init__(f"Merge {words.plural(len(nodes), 'discovery', 'discoveries')} into one")
        self._candidates = tuple(nodes)
        self._now = now
        ids = [node.id for node in self._candidates]
        self._kept_index = ids.index(stays) if stays in ids else self._candidates.index(first_to_stay(self._candidates))

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="rows", can_focus=False):
            for number in range(len(self._candidates)):
                yield Static(self._one(number), classes="lines")
        yield Static(self._after(), classes="preview")

    def keys(self) -> Keys:
        choose = pair_of(self, "option_previous", "option_next", "which one to keep")
        return (*self.offer("merge_yes"), choose, *self.offer("back", back="cancel"))

    def action_step(self, step: int) -> None:
        self._kept_index = (self._kept_index + step) % len(self._candidates)
        lines = list(self.query(".lines").results(Static))
        for number, static in enumerate(lines):
            static.update(self._one(number))
        lines[self._kept_index].scroll_visible(animate=False)
        self.query_one(".preview", Static).update(self._after())

    def action_merge(self) -> None:
        others = tuple(node.id for node in self._candidates if node.id != self._candidates[self._kept_index].id)
        self.dismiss((self._candidates[self._kept_index].id, others))

    def _one(self, number: int) -> Content:
        node, here = self._candidates[number], number == self._kept_index
        shapes = appearance_of(self.app).shapes
        age = words.ago(self._now - times.epoch(node.created_at)) if node.created_at else ""
        tags = " ".join(node.tags)
        facts = f"  {f' {shapes.sep} '.join(part for part in (node.wu_id, tags, node.created_by, age) if part)}"
        body = one_line(node.content.partition("\n")[2], _TEXT)
        return Content.assemble(
            (f"{shapes.cursor if here else ' '} ", "$room-accent"),
            ("stays   " if here else "closed  ", "bold $room-accent" if here else "$room-muted"),
            (f"{node.priority or shapes.dash}  ", "bold" if here else ""),
            (one_line(node.title, 200), "bold" if here else ""),
            (f"\n          {one_line(facts, 200)}", "$room-muted"),
            (f"\n          {body}" if body else "", ""),
        )

    def _after(self) -> Content:
        return Content.assemble(("Then it is ", "$room-muted"), "; ".join(self._parts()), ". u takes it back.")

    def _parts(self) -> Iterator[str]:
        others = [node for node in self._candidates if node is not self._candidates[self._kept_index]]
        after = merged(self._candidates[self._kept_index], others)
        yield after.priority or "without a priority"
        if after.wu_id:
            also = f", related to {', '.join(after.units)}" if after.units else ""
            yield f"of {after.wu_id}{also}"
        if after.tags:
            yield f"tagged {one_line(' '.join(after.tags), 120)}"
        yield "with all relationships of the closed"


class TriageDecision(NamedTuple):
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


class SimilarScreen(ListSheet[TriageDecision, Alike]):
    """Answers what is to be done with the marked ones. Those that are surely alike are marked at first."""

    SCOPE = "alike"
    EMPTY = "Looking for similar discoveries."

    def __init__(self, port: Port, node: Node, now: float) -> None:
        super().__init__(f"Like {one_line(node.title, 80)}")
        self._node = node
        self._now = now
        self._loader: Loader[Sequence[Alike]] = Loader(self, lambda: port.similar(node.id), self._loaded)

    def rows_view(self) -> AlikeRows:
        return AlikeRows(appearance_of(self.app), self._node.id, self._now)

    def keys(self) -> Keys:
        verdicts = self.offer("alike_promote", "alike_archive", "alike_later")
        choice = self.offer("mark", "mark_all")
        return (*verdicts, *choice, *self.offer("filter", "back"))

    def on_mount(self) -> None:
        super().on_mount()
        self._loader.load()

    def _loaded(self, rows: Sequence[Alike]) -> None:
        if not rows:
            self.rows.empty = "This one is already decided, or is beyond the 5 000 that are compared."
            self.rows.refresh_changed()
            return
        self.rows.marks.keys = {row.node_id: None for row in rows if row.sure}
        fill(self, rows, self.heading)
        if len(rows) == 1:
            self.say("No other open discovery is similar.")

    def on_line_list_highlighted(self, _event: LineList.Highlighted) -> None:
        count = len(self.rows.model)
        retitle(self, self.heading, f"{len(self.rows.marks.keys)} of {count} marked" if count else "")

    def action_decide(self, action: str) -> None:
        marked = tuple(self.rows.marks.keys)
        if marked:
            self.dismiss(TriageDecision(action, marked))
        else:
            mark, mark_all = key_of(self, "mark"), key_of(self, "mark_all")
            self.say(f"Nothing is marked: {mark} marks a row, {mark_all} marks all.", bad=True)
