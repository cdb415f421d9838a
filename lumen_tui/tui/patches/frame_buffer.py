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
from itertools import chain, compress, groupby
from operator import is_not, ne, or_
from typing import NamedTuple

from rich.cells import cell_len, split_graphemes
from rich.color import ColorSystem
from rich.console import Console
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

from lumen_tui.tui.patches.pen import PLAIN, Pen, change, pen_of

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


class FrameLine(NamedTuple):
    """What is in each cell of a line (nothing in the second half of a wide character), and how it is drawn."""

    texts: list[str]
    pens: list[Pen]


@lru_cache(maxsize=4096)
def _cells(text: str) -> tuple[str, list[str]]:
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
    texts: list[str] = []
    pens: list[Pen] = []
    for text, style, _ in chain.from_iterable(strips):
        marks, cells = ("", list(text)) if text.isascii() else _cells(text)
        if marks and texts:
            texts[-1 if texts[-1] else -2] += marks
        texts += cells
        pens += [pen_of(style, colours)] * len(cells)
    return FrameLine(texts, pens)


def _over(line: FrameLine, runs: Iterable[Run], colours: ColorSystem) -> FrameLine:
    """Return a line with what is drawn over it, no wider than it was."""
    texts, pens, width = [*line.texts], [*line.pens], len(line.texts)
    for x, strips in runs:
        run = _line(strips, colours)
        texts[x : x + len(run.texts)] = run.texts
        pens[x : x + len(run.pens)] = run.pens
    return FrameLine(texts[:width], pens[:width])


@lru_cache(maxsize=4096)
def _is_odd(text: str) -> bool:
    """Return whether terminals may differ about the width of a cell's text, or about what its neighbours do to it."""
    return len(text) != 1 or not _SURE.fullmatch(text) or cell_len(text) != 1


def _differing(new: FrameLine, old: FrameLine) -> Iterator[int]:
    """Yield the cells that do not look as before; most have the same pen, which is the same object then."""
    texts, pens = new.texts, new.pens
    other_text, other_pen = map(ne, texts, old.texts), map(is_not, pens, old.pens)
    for x in compress(range(len(texts)), map(or_, other_text, other_pen)):
        pen, before = pens[x], old.pens[x]
        if texts[x] != old.texts[x] or (pen != before and (texts[x] != " " or pen.blank != before.blank)):
            yield x


def _changed(new: FrameLine, old: FrameLine) -> list[range]:
    """Return the runs of cells to be sent: with all of a wide character, and with odd neighbours."""
    runs: list[range] = []
    for x in _differing(new, old):
        if runs and x < runs[-1].stop:
            continue
        start, stop = x, x + 1
        while start and (_is_odd(new.texts[start - 1]) or _is_odd(old.texts[start - 1])):
            start -= 1
        while stop < len(new.texts) and (_is_odd(new.texts[stop]) or _is_odd(old.texts[stop])):
            stop += 1
        if runs and _is_near(new, runs[-1].stop, start):
            start = runs.pop().start
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
    x, width = cells.start, len(line.texts)
    while x < cells.stop:
        stop, pen = _alike(line, x, cells.stop)
        for odd, group in groupby(range(x, stop), lambda x: _is_odd(line.texts[x])):
            *_, last = part = list(group)
            text = "".join(line.texts[part[0] : last + 1])
            if odd:
                yield Piece(y, part[0], text, pen, None)
            elif pen.blank:
                text = _ALIKE.sub(_repeated, text) if repeats else text
                yield Piece(y, part[0], text, pen, None if last + 1 == width else last + 1)
            else:
                yield from _with_erased(Piece(y, part[0], text, pen, None), width)
        x = stop


def _repeated(match: re.Match[str]) -> str:
    """Return a text of one character, repeated where that is shorter."""
    text = match[0]
    short = f"{text[0]}\x1b[{len(text) - 1}b"
    return short if len(short.encode()) < len(text.encode()) else text


def _alike(line: FrameLine, start: int, stop: int) -> tuple[int, Pen]:
    """Return how far one pen reaches from a cell on, and which. Blank cells look the same with many a pen."""
    texts, pens, pen, x = line.texts, line.pens, line.pens[start], start
    drawn = False  # whether this pen has drawn more than blanks
    while x < stop and (pens[x] is pen or (pens[x].blank == pen.blank and (texts[x] == " " or not drawn))):
        if texts[x] != " ":
            pen, drawn = pens[x], True
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


def _shortest(pieces: list[Piece], cursor: tuple[int, int], straight: bool) -> str:
    """Return what writes these pieces: from the top to the bottom, or pen by pen, as many colours are long numbers.

    Pen by pen there are lines of text, which go from the top to the bottom, and sides of frames, which go by columns.
    """
    turns: dict[Pen, int] = {}
    for piece in pieces:
        turns.setdefault(piece.pen, len(turns))
    by_lines = sorted(pieces, key=lambda piece: turns[piece.pen])
    by_columns = sorted(by_lines, key=lambda piece: (turns[piece.pen], piece.x))
    return min((_encoded(order, cursor, straight) for order in (pieces, by_lines, by_columns)), key=len)


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
        blank, whole = FrameLine([" "] * self.size[0], [PLAIN] * self.size[0]), isinstance(update, LayoutUpdate)
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
        for cells in [range(len(line.texts))] if before is None else _changed(line, before):
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
