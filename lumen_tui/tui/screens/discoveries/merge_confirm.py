"""Discoveries that are to become one: all of them side by side, which one stays, and what it will be then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lumen_tui.model import times
from lumen_tui.model.merging import first_to_stay, merged
from lumen_tui.model.records import Node
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.kit.rows_sheet import appearance_of
from lumen_tui.tui.kit.screen import Dialog, Keys

YES = "y"  # another key than the one that asks
_TEXT = 300  # characters of a body


class MergeConfirm(Dialog[tuple[str, tuple[str, ...]]]):
    """Answers the id of the one that stays and those of the others."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "leave", show=False),
        Binding("down,j,tab", "step(1)", show=False),
        Binding("up,k,shift+tab", "step(-1)", show=False),
    ]

    def __init__(self, found: Sequence[Node], stays: str, now: float) -> None:
        """`stays` is the id of the one that is offered to stay; empty for the most urgent one."""
        super().__init__(f"Merge {words.plural(len(found), 'discovery', 'discoveries')} into one")
        self._found = tuple(found)
        self._now = now
        ids = [node.id for node in self._found]
        self._stays = ids.index(stays) if stays in ids else self._found.index(first_to_stay(self._found))

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="rows", can_focus=False):
            for number in range(len(self._found)):
                yield Static(self._one(number), classes="lines")
        yield Static(self._after(), classes="preview")

    def keys(self) -> Keys:
        return ((YES, "merge"), ("↑↓", "which one stays"), ("esc", "cancel"))

    def action_step(self, step: int) -> None:
        self._stays = (self._stays + step) % len(self._found)
        lines = list(self.query(".lines").results(Static))
        for number, line in enumerate(lines):
            line.update(self._one(number))
        lines[self._stays].scroll_visible(animate=False)
        self.query_one(".preview", Static).update(self._after())

    def on_key(self, event: events.Key) -> None:
        if event.character == YES:
            event.stop()
            others = tuple(node.id for node in self._found if node.id != self._found[self._stays].id)
            self.dismiss((self._found[self._stays].id, others))

    def _one(self, number: int) -> Content:
        node, here = self._found[number], number == self._stays
        shapes = appearance_of(self.app).shapes
        age = words.ago(self._now - times.epoch(node.created_at)) if node.created_at else ""
        tags = " ".join(node.tags)
        facts = f"  {f' {shapes.sep} '.join(part for part in (node.wu_id, tags, node.created_by, age) if part)}"
        rest = one_line(node.content.partition("\n")[2], _TEXT)
        return Content.assemble(
            (f"{shapes.cursor if here else ' '} ", "$room-accent"),
            ("stays   " if here else "closed  ", "bold $room-accent" if here else "$room-muted"),
            (f"{node.priority or shapes.dash}  ", "bold" if here else ""),
            (one_line(node.title, 200), "bold" if here else ""),
            (f"\n          {one_line(facts, 200)}", "$room-muted"),
            (f"\n          {rest}" if rest else "", ""),
        )

    def _after(self) -> Content:
        return Content.assemble(("Then it is ", "$room-muted"), "; ".join(self._parts()), ". u takes it back.")

    def _parts(self) -> Iterator[str]:
        others = [node for node in self._found if node is not self._found[self._stays]]
        after = merged(self._found[self._stays], others)
        yield after.priority or "without a priority"
        if after.wu_id:
            also = f", related to {', '.join(after.units)}" if after.units else ""
            yield f"of {after.wu_id}{also}"
        if after.tags:
            yield f"tagged {one_line(' '.join(after.tags), 120)}"
        yield "with all relationships of the closed"
