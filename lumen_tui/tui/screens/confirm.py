"""Before what cannot be undone: another key than the one that asked, or the name typed out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.model.text import one_line, safe
from lumen_tui.tui.screens.base import Dialog, FormScreen, Invalid, Keys, row
from lumen_tui.tui.screens.fields import Line
from lumen_tui.tui.screens.menu import consequences

Quoted = Sequence[tuple[str, str]]  # a heading and a text


class ConfirmName(FormScreen[bool]):
    """Answers True once `name` was typed exactly, False when left."""

    SEND = "confirm"

    def __init__(self, title: str, name: str, lines: Sequence[str] = ()) -> None:
        super().__init__(title)
        self._wanted = one_line(name, 200)
        self._lines = tuple(lines)

    def rows(self) -> Iterable[Widget]:
        if self._lines:
            yield Static(safe("\n".join(self._lines)), markup=False, classes="consequences")
        yield row("name", Line(id="name"))

    def keys(self) -> Keys:
        return (("enter", "or F2"), ("esc", "cancel"))

    def preview(self) -> Content:
        return Content.assemble("This cannot be undone. Type ", (self._wanted, "bold"), " to go on.")

    def read(self) -> bool:
        if self.query_one("#name", Line).text != self._wanted:
            raise Invalid("The name is not the same.", "name")
        return True

    def action_leave(self) -> None:
        self.dismiss(False)


class ConfirmKey(Dialog[bool]):
    """Shows what `key` will do to what; answers True when that key is pressed, False when left.

    `quoted` are texts of somebody else under a heading of ours: all of each, behind a gutter mark, so that it cannot
    pass for the program's own.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "leave", show=False)]
    DEFAULT_CSS = "ConfirmKey .whose { height: auto; width: 100%; color: $room-muted; }"

    def __init__(self, title: str, lines: Iterable[str], key: str, verb: str, quoted: Quoted = ()) -> None:
        super().__init__(title)
        self._lines = consequences(lines)
        self._key = key
        self._verb = verb
        self._quoted = tuple(quoted)

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="rows"):
            yield Static(safe("\n".join(self._lines)), markup=False, classes="lines")
            for heading, text in self._quoted:
                yield Static(Content(one_line(heading)), classes="whose")
                yield Static(Content(safe(text)), classes="agent words")

    def keys(self) -> Keys:
        scroll = (("↑↓", "move"),) if self._quoted else ()
        return ((self._key, self._verb), *scroll, ("esc", "cancel"))

    def on_key(self, event: events.Key) -> None:
        if self._key in (event.key, event.character):
            event.stop()
            self.dismiss(True)

    def action_leave(self) -> None:
        self.dismiss(False)
