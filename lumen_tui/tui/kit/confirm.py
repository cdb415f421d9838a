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

from lumen_tui.model.text import fold, line_count, one_line, safe
from lumen_tui.tui.kit.fields import Line
from lumen_tui.tui.kit.menu import consequences
from lumen_tui.tui.kit.parts import Said
from lumen_tui.tui.kit.screen import Dialog, FormScreen, Invalid, Keys, row
from lumen_tui.tui.words import number

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
            raise Invalid("The name does not match.", "name")
        return True

    def action_leave(self) -> None:
        self.dismiss(False)


class Quotes(VerticalScroll):
    """What a question is about. `read` holds once its end has been on the screen."""

    read = False

    def on_mount(self) -> None:
        self.watch(self, "scroll_y", self._look, init=False)

    def on_resize(self) -> None:
        self.call_after_refresh(self._look)

    def _look(self) -> None:
        laid_out = self.size.height > 0 and self.virtual_size.height > 0
        self.read = self.read or (laid_out and self.scroll_offset.y >= self.max_scroll_y)


class ConfirmKey(Dialog[bool]):
    """Shows what `key` will do to what; answers True when that key is pressed, False when left.

    `quoted` are texts of somebody else under a heading of ours: all of each, behind a gutter mark, so that it cannot
    pass for the program's own. Emptiness in them is folded, and the key counts once their end was on the screen.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "leave", show=False),
        Binding("j", "scroll('scroll_down')", show=False),
        Binding("k", "scroll('scroll_up')", show=False),
        Binding("G", "scroll('scroll_end')", show=False),
        Binding("g", "scroll('scroll_home')", show=False),
    ]
    DEFAULT_CSS = "ConfirmKey .whose { height: auto; width: 100%; color: $room-muted; }"

    def __init__(self, title: str, lines: Iterable[str], key: str, verb: str, quoted: Quoted = ()) -> None:
        super().__init__(title)
        self._lines = consequences(lines)
        self._key = key
        self._verb = verb
        self._quoted = tuple(quoted)

    def body(self) -> ComposeResult:
        with Quotes(classes="rows"):
            yield Static(safe("\n".join(self._lines)), markup=False, classes="lines")
            for heading, text in self._quoted:
                lines = line_count(text)
                whose = f"{one_line(heading)}  {number(lines)} lines" if lines > 1 else one_line(heading)
                yield Static(Content(whose), classes="whose")
                yield Static(Content(fold(text)), classes="agent words")
        yield Said()

    def keys(self) -> Keys:
        scroll = (("↑↓", "move"), ("G", "end")) if self._quoted else ()
        return ((self._key, self._verb), *scroll, ("esc", "cancel"))

    def on_key(self, event: events.Key) -> None:
        if self._key not in (event.key, event.character):
            return
        event.stop()
        if not self._quoted or self.query_one(Quotes).read:
            self.dismiss(True)
        else:
            self.query_one(Said).say(f"There is more below: G goes to its end, then {self._key} counts.", bad=True)

    def action_scroll(self, how: str) -> None:
        getattr(self.query_one(Quotes), how)(animate=False)

    def action_leave(self) -> None:
        self.dismiss(False)
