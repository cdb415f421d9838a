"""What an edited text changes, line by line, before it is saved."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lumen_tui.model.text import one_line, safe
from lumen_tui.tui.kit.diffs import coloured
from lumen_tui.tui.kit.screen import DetailScreen, Keys


class DiffScreen(DetailScreen[bool]):
    """Answers True when it is to be saved, None when left. `lines` say what the change means."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "save", show=False),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
    ]

    HOLDS = True

    def __init__(self, heading: str, before: str, after: str, lines: Sequence[str] = ()) -> None:
        super().__init__(heading)
        self._diff = difference(before, after)
        self._lines = tuple(one_line(line, 300) for line in lines)

    def body(self) -> ComposeResult:
        new = sum(line.startswith("+") for line in self._diff)
        gone = sum(line.startswith("-") for line in self._diff)
        head = [*self._lines, f"{new} lines new, {gone} lines gone"]
        yield Static(Content(safe("\n".join(head))), classes="consequences")
        with VerticalScroll(classes="pages"):
            yield Static(coloured("\n".join(self._diff)))

    def keys(self) -> Keys:
        return (("s", "save"), ("j k", "move"), ("esc", "not yet"))

    def action_save(self) -> None:
        self.dismiss(True)

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def difference(before: str, after: str) -> list[str]:
    """The lines that differ, with two around each, as a unified diff without its head."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return list(lines)[2:]
