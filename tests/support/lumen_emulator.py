"""A terminal to look at: pyte, with what terminals do to half a wide character and what pyte shows as text cut out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyte
from rich.cells import get_character_cell_size

# Answers and switches that pyte does not know and would show.
_STRANGE = re.compile(r"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*(?:u|\$p)|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", re.S)
_SEEN = ("underscore", "strikethrough", "reverse")  # on a cell without a character, too


class _Cells(pyte.Screen):
    """As pyte has it; half a wide character is none, and a mark at the begin of a line has nothing to stand on."""

    _last = ""

    def repeat(self, count: int = 1) -> None:
        self.draw(self._last * (count or 1))

    def draw(self, data: str) -> None:
        self._last = data[-1:]
        for char in data:
            width = get_character_cell_size(char)
            if width:
                line, x = self.buffer[self.cursor.y], min(self.cursor.x, self.columns - width)
                for start, end in ((x - 1, x), (x + width - 1, x + width)):
                    if start >= 0 and end < self.columns and not line[end].data:
                        line[start] = line[start]._replace(data=" ")
                        line[end] = line[end]._replace(data=" ")
            if width or self.cursor.x:
                super().draw(char)


class _Stream(pyte.Stream):
    """As pyte has it; with REP, the last character again."""

    csi = {**pyte.Stream.csi, "b": "repeat"}  # noqa: RUF012 - pyte's own way
    events = pyte.Stream.events | {"repeat"}


class Emulator:
    """What is seen after so much was sent."""

    def __init__(self, columns: int, rows: int) -> None:
        self._screen = _Cells(columns, rows)
        self._stream = _Stream(self._screen)
        self.feed("\x1b[?7l")

    def feed(self, data: str) -> None:
        self._stream.feed(_STRANGE.sub("", data).replace("\x1b[m", "\x1b[0m"))

    @property
    def size(self) -> tuple[int, int]:
        return self._screen.columns, self._screen.lines

    @property
    def lines(self) -> list[str]:
        return list(self._screen.display)

    @property
    def picture(self) -> list[tuple[Any, ...]]:
        """All that a person sees of each cell."""
        return [*self._seen()]

    def _seen(self) -> Iterator[tuple[Any, ...]]:
        for y in range(self._screen.lines):
            for x in range(self._screen.columns):
                cell = self._screen.buffer[y][x]
                marks = tuple(getattr(cell, name) for name in _SEEN)
                bare = cell.data == " " and not any(marks)
                yield (cell.data, cell.bg, *marks, *(() if bare else (cell.fg, cell.bold, cell.italics)))

    @property
    def cursor(self) -> tuple[int, int]:
        return self._screen.cursor.x, self._screen.cursor.y
