"""Parts of a sheet that only show: a sentence at its bottom, names with their values, a diff in colours, Markdown.

Markdown becomes lines of text in one pass, so that no text, however nested, can hold up the room; a widget for every
paragraph, as Textual's own Markdown has, takes seconds for a few hundred list items. HTML and links stay as they are
written: nothing is hidden and nothing acts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.content import Content
from textual.geometry import Region, Size
from textual.widget import Widget

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import humanize, one_line, safe
from lumen_tui.tui.kit.lines import Cell, diff_line, fit, line, wrap
from lumen_tui.tui.theme import Appearance, Ink

Fact = tuple[str, str | Content]

_LABEL, _WIDEST = 13, 20  # columns for the names of facts: usually, and at most
_MOST_SAID = 3  # lines of a sentence


def status_text(text: str, *, bad: bool = False) -> Content:
    """Return a sentence of the program: red only where something is wrong."""
    return Content.assemble((safe(humanize(text)), "$room-bad" if bad else "$room-accent"))


class StatusLine(Widget):
    """One sentence of the program at the bottom of a sheet; without one it takes no line. A cut end has its mark."""

    def __init__(self) -> None:
        super().__init__(classes="said -empty")
        self._words = Content()

    def say(self, text: str, bad: bool = False) -> None:
        """Show another sentence, or none."""
        self.show(status_text(text, bad=bad))

    def show(self, words: Content) -> None:
        """Show words in colours of their own."""
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
            for wrapped in text.wrap(max(1, width - size)):
                lines.append(label + wrapped)
                label = Content(" " * size)
        return lines


_INKS = {"+": "$room-accent", "-": "$room-bad", "!": "$room-bad"}


def coloured(text: str, look: Appearance) -> Content:
    """Return the lines of a unified diff; one that begins with `!` says why there is none."""
    lines = [
        Content.assemble((diff_line(line, look), _INKS.get(line[:1], "$room-muted"))) for line in safe(text).split("\n")
    ]
    return Content("\n").join(lines)


_HEADING = lazy_re(r"#{1,6}\s+(.*?)\s*#*$")
_ITEM = lazy_re(r"(\s*)([-*+]|\d{1,9}[.)])\s+")
_RULE = lazy_re(r"[\s|:-]*-[\s|:-]*")
_INLINE = lazy_re(r"\*\*([^*\n]+)\*\*|`([^`\n]+)`")
_FENCES = ("```", "~~~")
_LAST_COLUMN = 12  # cells that the last column of a table must at least have
_LONGEST = 2_000  # characters of one line in which emphasis is looked for

Line = list[Segment]


def markdown_lines(text: str, width: int, ink: Ink) -> list[Line]:
    """`text` laid out on exactly `width` cells a line."""
    return list(_laid_out(safe(text).expandtabs(4).strip("\n").split("\n"), max(1, width), ink))


def _laid_out(source: list[str], width: int, ink: Ink) -> Iterator[Line]:
    fence = ""
    rows: list[str] = []
    for text in source:
        mark = text.strip()[:3]
        in_table = not fence and text.lstrip().startswith("|")
        if rows and not in_table:
            yield from _table(rows, width, ink)
            rows = []
        if in_table:
            rows.append(text)
        elif mark in _FENCES and fence in ("", mark):
            fence = "" if fence else mark
            if text.strip() != mark:
                yield line(width, (Cell(text.strip(), ink.muted),))
        elif fence:
            yield from _wrapped(Text(text), width, "  ", "  ", ink.text)
        else:
            yield from _plain(text, width, ink)
    yield from _table(rows, width, ink)


def _plain(text: str, width: int, ink: Ink) -> Iterator[Line]:
    """Yield a heading, a quote, an item of a list or a paragraph."""
    if heading := _HEADING.match(text):
        yield from _wrapped(Text(heading[1]), width, "", "", ink.heading)
    elif text.startswith(">"):
        yield from _wrapped(Text(text.lstrip("> ")), width, "> ", "> ", ink.muted)
    elif item := _ITEM.match(text):
        mark = "•" if item[2] in "-*+" else item[2]
        first = f"{item[1]}{mark} "[: width // 2]
        yield from _wrapped(_inline(text[item.end() :], ink), width, first, " " * len(first), ink.text)
    else:
        yield from _wrapped(_inline(text, ink), width, "", "", ink.text)


def _inline(text: str, ink: Ink) -> Text:
    """`**bold**` and code in the strong ink, without their marks."""
    if len(text) > _LONGEST:
        return Text(text)
    shown, end = Text(), 0
    for match in _INLINE.finditer(text):
        shown.append(text[end : match.start()])
        shown.append(match[1] or match[2], ink.strong)
        end = match.end()
    return shown.append(text[end:])


def _wrapped(text: Text, width: int, first: str, indent: str, style: Style) -> Iterator[Line]:
    room = max(1, width - len(first))
    console = _console()
    for number, piece in enumerate(text.wrap(console, room) or [Text()]):
        piece.rstrip()
        lead = Segment(indent if number else first, style)
        body = [Segment(part.text, style + (part.style or Style.null())) for part in piece.render(console)]
        yield Segment.adjust_line_length([lead, *body], width, style)


@lru_cache(maxsize=1)
def _console() -> Console:
    return Console(width=80, color_system=None, legacy_windows=False)


def _table(rows: list[str], width: int, ink: Ink) -> Iterator[Line]:
    """Rows with their columns below each other, the last one wrapped; as they are written where that is too wide."""
    cells = [_cells(row) for row in rows if not _RULE.fullmatch(row)]
    if not cells:
        return
    count = max(len(row) for row in cells)
    sizes = [max(cell_len(row[n]) if n < len(row) else 0 for row in cells) for n in range(count)]
    left = width - sum(sizes[:-1]) - 2 * (count - 1)
    if left < min(sizes[-1], max(_LAST_COLUMN, width // 3)):
        for written in rows:
            yield from _wrapped(Text(written), width, "", "  ", ink.text)
        return
    for number, row in enumerate(cells):
        yield from _row([*row, *[""] * (count - len(row))], sizes, left, width, ink.text if number else ink.muted)


def _cells(row: str) -> list[str]:
    """Return the cells of a row, without the marks of emphasis and code: they would only cost width."""
    text = row if len(row) > _LONGEST else _INLINE.sub(lambda match: match[1] or match[2], row)
    return [cell.strip() for cell in text.strip().strip("|").split("|")]


def _row(cells: list[str], sizes: list[int], left: int, width: int, style: Style) -> Iterator[Line]:
    lead = "".join(f"{fit(cell, size)}  " for cell, size in zip(cells[:-1], sizes, strict=False))
    for piece in wrap(cells[-1], max(1, left)):
        yield Segment.adjust_line_length([Segment(lead + piece, style)], width, style)
        lead = " " * cell_len(lead)
