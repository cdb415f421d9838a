"""Something to read in full: facts above, the text below, nothing cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lumen_tui.model.text import safe
from lumen_tui.tui.kit.bindings import screen_bindings
from lumen_tui.tui.kit.parts import Fact, Facts
from lumen_tui.tui.kit.screen import DetailScreen, Keys, Result


class ReadingScreen(DetailScreen[Result]):
    """A text behind a gutter mark with its facts. Answers None; subclasses add keys."""

    SCOPE = "pages"
    BINDINGS: ClassVar[list[BindingType]] = screen_bindings("pages")

    def __init__(self, heading: str, text: str, facts: Sequence[Fact] = ()) -> None:
        super().__init__(heading)
        self._text = safe(text)
        self._facts = tuple(facts)

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="pages"):
            if self._text:
                yield Static(Content(self._text), classes="agent words")
            yield Facts(self._facts)

    def keys(self) -> Keys:
        return ((f"{self.key('line_down')} {self.key('line_up')}", "move"), *self.offer("copy", "back"))

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._text)
        self.note("The text is in the clipboard.")

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)
