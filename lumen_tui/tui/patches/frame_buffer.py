"""What a terminal shows, cell by cell: of a new frame only the cells that differ from it are sent.

Textual sends each changed region whole, and after a layout the whole screen. Over SSH that is most of what the room
would send. Here a frame is compared with what was sent before, and becomes the shortest exact way from one to the
other: cursor movements, the colours that differ, and text.

Nothing is sent that a terminal may read in two ways. A character that is not one cell wide is never cut in two, and the
cursor is put where it belongs behind it; behind the last column, too. Cells are erased only where their ground is the
terminal's own: not every terminal erases in another colour.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, groupby
from operator import attrgetter, is_not
from typing import NamedTuple

from rich.cells import cell_len, split_graphemes
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

from lumen_tui.tui.patches.pen import PLAIN, Pen, blank_pen, change, pen_of

Run = tuple[int, Iterable[Strip]]  # the column of the first cell, and what is drawn from there on

_OVERHEAD = 12  # bytes of a piece for its place and its colours, about
_ALIKE = re.compile(r"(.)\1{3,}")
_NEAR = 5  # cells that are as they were: to write them again takes no more bytes than to step over them
_BLANKS = re.compile("( {9,})")  # to write so many takes more bytes than to erase them
_SURE = re.compile(r"[ -\u058f\u2000-\u2bff]*")  # characters that have a cell of their own, but for a few wide signs


class TerminalSkills(NamedTuple):
    """What a terminal has shown that it does; not every one does."""

    repeats: bool = False  # a character (REP)
    straight: bool = False  # a line feed goes straight down, and not to the first column


class Cell(NamedTuple):
    """What stands in a cell (nothing in the second half of a wide character), and how it is drawn."""

    text: str
    pen: Pen
    odd: bool  # whether terminals may differ about its width, or about what its neighbours do to it


FrameLine = list[Cell]

_BLANK = Cell(" ", PLAIN, odd=False)
_KEPT = 4096  # cells of a pen: more than all characters of one cell
_COLUMN = attrgetter("x")
_ODD = attrgetter("odd")
_DIFFERING = re.compile(rb"\x01+")  # truths, a byte each


class _CellsOfPen(dict[str, Cell]):
    """The cells that one pen draws, each made once: two lines differ where they are made of different cells."""

    def __init__(self, pen: Pen) -> None:
        super().__init__()
        self._pen, self._ground = pen, blank_pen(pen)

    def __missing__(self, text: str) -> Cell:
        cell = Cell(text, self._ground if text == " " else self._pen, _is_odd(text))
        if len(self) < _KEPT:
            self[text] = cell
        return cell


_cells_of = lru_cache(maxsize=1024)(_CellsOfPen)


@lru_cache(maxsize=4096)
def _segment(text: str, style: Style | None, colours: ColorSystem) -> tuple[str, tuple[Cell, ...]]:
    """Return the cells of a text, and before them the marks that belong to the cell before."""
    marks, texts = ("", list(text)) if text.isascii() else _divided(text)
    return marks, tuple(map(_cells_of(pen_of(style, colours)).__getitem__, texts))


def _divided(text: str) -> tuple[str, list[str]]:
    """Return the text of each cell, and before it the marks that belong to the cell before."""
    marks, cells = "", list[str]()
    for start, end, width in split_graphemes(text)[0]:
        if width:
            cells += (text[start:end], "")[:width]
        elif cells:
            cells[-1 if cells[-1] else -2] += text[start:end]
        else:
            marks += text[start:end]
    return marks, cells


def _line(strips: Iterable[Strip], colours: ColorSystem) -> FrameLine:
    line: FrameLine = []
    last: Style | None = None  # of what was drawn last
    for text, style, _ in chain.from_iterable(strips):
        marks, cells = _segment(text, style, colours)
        if marks and line:
            marked = -1 if line[-1].text else -2
            line[marked] = _cells_of(pen_of(last, colours))[line[marked].text + marks]
        if cells:
            line += cells
            last = style
    return line


def _over(line: FrameLine, runs: Iterable[Run], colours: ColorSystem) -> FrameLine:
    """Return a line with what is drawn over it, no wider than it was."""
    over, width = [*line], len(line)
    for x, strips in runs:
        run = _line(strips, colours)
        over[x : x + len(run)] = run
    return over[:width]


def _is_odd(text: str) -> bool:
    return len(text) != 1 or not _SURE.fullmatch(text) or cell_len(text) != 1


def _changed(new: FrameLine, old: FrameLine) -> list[range]:
    """Return the runs of cells to be sent: with all of a wide character, and with odd neighbours."""
    runs: list[range] = []
    for differing in _DIFFERING.finditer(bytes(map(is_not, new, old))):
        start, stop = differing.span()
        while start and (new[start - 1].odd or old[start - 1].odd):
            start -= 1
        while stop < len(new) and (new[stop].odd or old[stop].odd):
            stop += 1
        if runs and _is_near(new, runs[-1].stop, start):
            start, stop = runs[-1].start, max(stop, runs.pop().stop)
        runs.append(range(start, stop))
    return runs


def _is_near(line: FrameLine, stop: int, start: int) -> bool:
    """Return whether what stands between two runs is drawn with the pen that draws on both sides of it."""
    return start <= stop or (start - stop <= _NEAR and _alike(line, stop - 1, start + 1)[0] > start)


class Piece(NamedTuple):
    """What is written at once: text from a cell on, and in which column the cursor is then; None where nobody knows."""

    y: int
    x: int
    text: str
    pen: Pen
    stop: int | None


def _pieces(y: int, cells: range, line: FrameLine, repeats: bool) -> Iterator[Piece]:
    """Divide a run of cells into what is drawn alike."""
    x, width = cells.start, len(line)
    while x < cells.stop:
        stop, pen = _alike(line, x, cells.stop)
        for odd, count, text in _parts(line[x:stop]):
            if odd:
                yield Piece(y, x, text, pen, None)
            elif pen.blank:
                text = _ALIKE.sub(_repeated, text) if repeats else text
                yield Piece(y, x, text, pen, None if x + count == width else x + count)
            else:
                yield from _with_erased(Piece(y, x, text, pen, None), width)
            x += count


def _parts(cells: FrameLine) -> Iterator[tuple[bool, int, str]]:
    """Yield whether cells are odd, how many, and their text."""
    text = "".join([cell.text for cell in cells])
    if text.isascii() and len(text) == len(cells):
        yield False, len(cells), text
        return
    for odd, group in groupby(cells, _ODD):
        texts = [cell.text for cell in group]
        yield odd, len(texts), "".join(texts)


def _repeated(match: re.Match[str]) -> str:
    """Return a text of one character, repeated where that is shorter."""
    text = match[0]
    short = f"{text[0]}\x1b[{len(text) - 1}b"
    return short if len(short.encode()) < len(text.encode()) else text


def _alike(line: FrameLine, start: int, stop: int) -> tuple[int, Pen]:
    """Return how far one pen reaches from a cell on, and which. Blank cells look the same with many a pen."""
    pen, x = line[start].pen, start
    drawn = False  # whether this pen has drawn more than blanks
    for text, other, _ in line[start:stop]:
        if other is not pen and (other.blank != pen.blank or (text != " " and drawn)):
            break
        if text != " ":
            pen, drawn = other, True
        x += 1
    return x, pen


def _with_erased(piece: Piece, width: int) -> Iterator[Piece]:
    """Divide a piece on the terminal's own ground: many blanks are erased."""
    x = piece.x
    for part in filter(None, _BLANKS.split(piece.text)):
        stop = x + len(part)
        if not _BLANKS.fullmatch(part):
            yield piece._replace(x=x, text=part, stop=stop if stop < width else None)
        else:
            yield piece._replace(x=x, text="\x1b[K" if stop == width else f"\x1b[{len(part)}X", stop=x, pen=PLAIN)
        x = stop


def _encoded(pieces: Iterable[Piece], cursor: tuple[int, int], straight: bool) -> str:
    """Return what writes these pieces in this order and leaves the cursor there."""
    parts: list[str] = []
    at: tuple[int, int] | None = None
    drawn = PLAIN
    for y, x, text, pen, stop in pieces:
        if at != (x, y):
            parts.append(_way(at, (x, y), straight))
        if pen is not drawn and pen != drawn and (pen.blank != drawn.blank or text.strip(" ")):
            parts.append(change(drawn, pen))
            drawn = pen
        parts.append(text)
        at = None if stop is None else (stop, y)
    return "".join([*parts, change(drawn, PLAIN), _way(at, cursor, straight) if at != cursor else ""])


def _shortest(pieces: Iterable[Piece], cursor: tuple[int, int], straight: bool) -> str:
    """Return what writes these pieces: pen by pen, as many colours are long numbers.

    There are pens for lines of text, which go from the top to the bottom, and for sides of frames, which go by columns.
    """
    of_pens: dict[Pen, list[Piece]] = {}
    for piece in pieces:
        of_pens.setdefault(piece.pen, []).append(piece)
    by_lines = chain.from_iterable(of_pens.values())
    by_columns = chain.from_iterable(sorted(of_pen, key=_COLUMN) for of_pen in of_pens.values())
    return min(_encoded(by_lines, cursor, straight), _encoded(by_columns, cursor, straight), key=len)


@lru_cache(maxsize=8192)
def _way(start: tuple[int, int] | None, end: tuple[int, int], straight: bool) -> str:
    """Return the shortest movement from one cell to another; from an unknown one where `start` is None."""
    x, y = end
    ways = [f"\x1b[{y + 1};{x + 1}H" if x else f"\x1b[{y + 1}H" if y else "\x1b[H"]
    if start is not None and start[1] <= y:
        count = y - start[1]
        aside = ["\b" * (start[0] - x), _steps(start[0] - x, "D")] if x < start[0] else [_steps(x - start[0], "C")]
        across = min(*aside, f"\x1b[{x + 1}G", key=len)
        ways += [_steps(count, "B") + across, "\r" + "\n" * count + _steps(x, "C")]
        if straight:
            ways.append("\n" * count + across)
    return min(ways, key=len)


def _steps(count: int, where: str) -> str:
    return "" if count <= 0 else f"\x1b[{where}" if count == 1 else f"\x1b[{count}{where}"


class FrameBuffer:
    """What a terminal of `width` cells shows, and what it is to show."""

    def __init__(self, width: int, height: int) -> None:
        self.size = width, height
        self.skills = TerminalSkills()
        self._wanted: dict[int, FrameLine] = {}
        self._shown: dict[int, FrameLine] = {}  # a line that is not in it shows nobody knows what
        self._news: dict[int, int] = {}  # lines that may differ, with the number of the frame that brought them
        self._frames = 0

    def forget(self) -> None:
        """Somebody else has drawn on the terminal."""
        self._shown.clear()
        self._news = dict.fromkeys(self._wanted, self._frames)

    def take(self, update: CompositorUpdate, console: Console) -> None:
        """Take what is to be shown."""
        colours = console._color_system or ColorSystem.TRUECOLOR
        self._frames += 1
        blank, whole = [_BLANK] * self.size[0], isinstance(update, LayoutUpdate)
        for y, runs in _lines(update):
            if y >= self.size[1]:
                continue  # of the size before this one
            line = _over(blank if whole else self._wanted.get(y, blank), runs, colours)
            if line != self._wanted.get(y) or y not in self._shown:
                self._wanted[y] = line
                self._news[y] = self._frames

    @property
    def is_shown(self) -> bool:
        """Whether all of it was sent."""
        return not self._news

    def changes(self, most: float, cursor: tuple[int, int]) -> str:
        """Return what makes the terminal show it, the newest lines first, and leaves the cursor there.

        After about `most` bytes it ends; what is missing then comes with the next call.
        """
        pieces: list[Piece] = []
        size = 0
        afresh = "" if self._shown else "\x1b[0m"
        for y in sorted(self._news, key=lambda y: (-self._news[y], y)):
            for piece in self._sent(y):
                pieces.append(piece)
                size += len(piece.text) + _OVERHEAD
            if size >= most:
                break
        return afresh + _shortest(pieces, cursor, self.skills.straight) if pieces else ""

    def _sent(self, y: int) -> Iterator[Piece]:
        """Yield what changes a line, which counts as sent."""
        line, before = self._wanted[y], self._shown.get(y)
        for cells in [range(len(line))] if before is None else _changed(line, before):
            yield from _pieces(y, cells, line, self.skills.repeats)
        self._shown[y] = line
        del self._news[y]


def _lines(update: CompositorUpdate) -> Iterator[tuple[int, list[Run]]]:
    """Yield what is drawn of each line of an update."""
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            yield y, [(update.region.x, strips)]
    elif isinstance(update, ChopsUpdate):
        for y in {y for y, _, _ in update.spans}:
            yield y, [(x, [strip]) for x, strip in update.chops[y].items() if strip is not None]
