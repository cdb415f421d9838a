"""Parts of a sheet that only show: a sentence at its bottom, names with their values, a diff in colours."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Region, Size
from textual.widget import Widget

from lumen_tui.model.text import humanize, one_line, safe

Fact = tuple[str, str | Content]

_LABEL, _WIDEST = 13, 20  # columns for the names of facts: usually, and at most
_MOST_SAID = 3  # lines of a sentence


def said(text: str, *, bad: bool = False) -> Content:
    """A sentence of the program: red only where something is wrong."""
    return Content.assemble((safe(humanize(text)), "$room-bad" if bad else "$room-accent"))


class Said(Widget):
    """One sentence of the program at the bottom of a sheet; without one it takes no line. A cut end has its mark."""

    def __init__(self) -> None:
        super().__init__(classes="said -empty")
        self._words = Content()

    def say(self, text: str, bad: bool = False) -> None:
        """Another sentence, or none."""
        self.show(said(text, bad=bad))

    def show(self, words: Content) -> None:
        """The same in other colours."""
        self._words = words
        self.set_class(not words, "-empty")
        self.refresh(layout=True)

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.content_size.width))

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def _lines(self, width: int) -> list[Content]:
        lines = list(self._words.wrap(max(1, width)))
        if len(lines) <= _MOST_SAID:
            return lines
        last = lines[_MOST_SAID - 1] + Content("…")
        return [*lines[: _MOST_SAID - 1], last.truncate(width, ellipsis=True)]


class Facts(Widget):
    """Names on the left, values beside them; a long value wraps under itself."""

    def __init__(self, facts: Sequence[Fact] = (), *, classes: str = "") -> None:
        super().__init__(classes=classes)
        self._facts = tuple(facts)

    def show(self, facts: Sequence[Fact]) -> None:
        """Put other facts in place. Only lines that changed are repainted."""
        width = self.content_size.width
        before = self._lines(width)
        self._facts = tuple(facts)
        after = self._lines(width)
        if len(before) != len(after):
            self.refresh(layout=True)
            return
        for y, (old, new) in enumerate(zip(before, after, strict=True)):
            if not old.is_same(new):
                self.refresh(Region(0, y, width, 1))

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.content_size.width))

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def _lines(self, width: int) -> list[Content]:
        lines: list[Content] = []
        size = min(_WIDEST, max((len(name) for name, _ in self._facts), default=0) + 2)
        size = max(_LABEL, size)
        for name, value in self._facts:
            text = value if isinstance(value, Content) else Content(safe(value))
            words = one_line(name, size - 1).ljust(size)
            label = Content.assemble((words, "$room-muted"))
            for line in text.wrap(max(1, width - size)):
                lines.append(label + line)
                label = Content(" " * size)
        return lines


_INKS = {"+": "$room-accent", "-": "$room-bad", "!": "$room-bad"}


def coloured(text: str) -> Content:
    """The lines of a unified diff; one that begins with `!` says why there is none."""
    lines = [Content.assemble((line, _INKS.get(line[:1], "$room-muted"))) for line in safe(text).split("\n")]
    return Content("\n").join(lines)
