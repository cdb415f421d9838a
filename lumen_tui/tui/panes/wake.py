"""The wake-state: what the agent will read first when it wakes."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import BindingType

from lumen_tui.model.snapshot import Revisions
from lumen_tui.model.text import humanize, safe
from lumen_tui.tui import words
from lumen_tui.tui.kit.keys import bindings
from lumen_tui.tui.kit.lines import ScrolledLines, spread, wrap
from lumen_tui.tui.panes.base import Detail, Pane
from lumen_tui.tui.panes.loop import ordered_tasks, over, under_way
from lumen_tui.tui.room_command import WAKE
from lumen_tui.tui.theme import Ink

_USUAL = 42  # cells of the pane in a window of 120
_LIMIT = 100_000  # characters that are laid out


class WakePane(Pane):
    """Pane 2."""

    scope, number, name_shown = WAKE, 2, "Wake-state"
    whole = True
    BINDINGS: ClassVar[list[BindingType]] = bindings(WAKE, "screen.do")

    def __init__(self) -> None:
        super().__init__()
        self._text = ScrolledLines(self._lines)
        self._count = 0  # rows of the text

    def compose(self) -> ComposeResult:
        yield self._text

    def empty_words(self) -> str:
        return (
            f"No wake-state yet. The agent writes one at the end of each loop; {self.key('beat')} asks for a beat now."
        )

    def rows_wanted(self) -> int:
        """Return about as many rows as the text has in a narrow column."""
        return self._count

    def revision(self, revisions: Revisions) -> object:
        return revisions.wake, revisions.loop, revisions.tasks

    def fill(self) -> None:
        text = self.snapshot.wake.text[:_LIMIT].strip()
        self._count = sum(1 + len(line) // _USUAL for line in text.split("\n")) if text else 0
        self._text.redraw()

    def subtitle_words(self) -> str:
        return " · ".join(part for part in (self._text.more_words(), self._written()) if part)

    def _written(self) -> str:
        """For which loop, and how old."""
        wake, loop = self.snapshot.wake, self.snapshot.loop
        if not wake.text:
            return ""
        age = words.ago(self.now - wake.written) if wake.written else ""
        purpose = f"for loop {words.number(loop.loop + 1)}" if loop else ""
        return " · ".join(part for part in (purpose, age) if part)

    def short(self) -> tuple[str, bool]:
        return self._written() or "not written yet", False

    def detail(self) -> Detail | None:
        return Detail("wake-state", (), self.snapshot.wake.text, composed=True) if self.snapshot.wake.text else None

    def _since(self) -> str:
        """Return what is not in the text, because it goes on: the tasks that the agent gave out."""
        open_tasks = [view for view in ordered_tasks(self.snapshot) if not over(view)]
        if not open_tasks:
            return ""
        return f"Tasks of the agent still running: {words.plural(len(open_tasks), 'task')} ({under_way(open_tasks)})."

    def _lines(self, width: int, height: int) -> list[list[Segment]]:
        ink = self.look.ink
        if not self.snapshot.wake.text.strip():
            return [spread(width, [(text, ink.muted)], []) for text in wrap(self.nothing_shown(), width)]
        since = self._since()
        lines = [spread(width, [(text, ink.accent)], []) for text in wrap(since, width)] if since else []
        for text in safe(humanize(_shown(self.snapshot.wake.text))).strip().split("\n"):
            body, style, indent = _styled(text.expandtabs(4), ink)
            pieces = wrap(body, width - len(indent))
            lines += [spread(width, [((indent if i else "") + piece, style)], []) for i, piece in enumerate(pieces)]
        return lines


def _shown(text: str) -> str:
    omitted = len(text) - _LIMIT
    return text if omitted <= 0 else f"{text[:_LIMIT]}\n… {omitted} more characters in wake-state.md"


def _styled(text: str, ink: Ink) -> tuple[str, Style, str]:
    """Return a line of Markdown as what is shown, its style, and the indent of its continuation lines."""
    bare = text.lstrip("#")
    if bare != text and (not bare or bare.startswith(" ")):
        return bare.strip(), ink.heading, ""
    if text.lstrip().startswith(("- ", "* ")):
        return text, ink.text, "  "
    return text, ink.muted if text.startswith(">") else ink.text, ""
