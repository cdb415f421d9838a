"""Lines made of columns: plain segments, cut and padded by cell width, never markup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from lumen_tui.model.text import safe

GAP = 2  # blank cells between columns
_LONGEST = 2000  # characters of a cell that are looked at


class Cell(NamedTuple):
    """One column of a line. `width` 0 takes what the others leave; only one cell of a line may be so."""

    text: str
    style: Style
    width: int = 0
    right: bool = False
    gap: int = GAP  # blanks before it


def fit(text: str, width: int, *, right: bool = False) -> str:
    """`text` on exactly `width` cells: padded, or cut with an ellipsis. Made safe on the way."""
    if width <= 0:
        return ""
    flat = text if text.isascii() and text.isprintable() else _flat(text)
    size = len(flat) if flat.isascii() else cell_len(flat)
    if size > width:
        return set_cell_size(flat, width - 1) + "…"
    blank = " " * (width - size)
    return blank + flat if right else flat + blank


def _flat(text: str) -> str:
    return safe(text[:_LONGEST]).replace("\n", " ").replace("\t", " ")


def line(width: int, cells: Iterable[Cell]) -> list[Segment]:
    """The cells side by side on `width` cells. What does not fit is cut at the end."""
    columns = [cell for cell in cells if cell.width >= 0]
    fixed = sum(cell.width + (cell.gap if index else 0) for index, cell in enumerate(columns))
    segments: list[Segment] = []
    room = width
    for index, cell in enumerate(columns):
        gap = min(cell.gap if index else 0, room)
        size = min(cell.width or max(0, width - fixed), room - gap)
        room -= gap + size
        push(segments, " " * gap + fit(cell.text, size, right=cell.right), cell.style)
    return segments


def push(segments: list[Segment], text: str, style: Style) -> None:
    """Append, joined to the last segment where the style is the same: every segment costs bytes on the wire."""
    body = text.lstrip(" ")
    if segments and len(body) < len(text):
        # Blanks go to the piece before: a piece then begins where its words do.
        last = segments[-1]
        segments[-1] = Segment(last.text + text[: len(text) - len(body)], last.style)
        text = body
    if not text:
        return
    if segments and segments[-1].style == style:
        segments[-1] = Segment(segments[-1].text + text, style)
    else:
        segments.append(Segment(text, style))


def spread(width: int, left: list[tuple[str, Style]], right: list[tuple[str, Style]]) -> list[Segment]:
    """Pieces from the left and pieces against the right edge; the left ones give way."""
    tail = sum(cell_len(text) for text, _ in right)
    segments: list[Segment] = []
    room = max(0, width - tail)
    for text, style in left:
        size = min(cell_len(text), room)
        push(segments, fit(text, size), style)
        room -= size
    push(segments, " " * room, (right or left or [("", Style.null())])[-1][1])
    for text, style in right:
        push(segments, fit(text, min(cell_len(text), width)), style)
    return segments


def changed_span(old: Strip | None, new: Strip, width: int) -> tuple[int, int] | None:
    """First cell and number of cells in which two lines differ; None where they are the same."""
    if old is None:
        return 0, width
    before, after = list(old), list(new)
    start = _same(before, after)
    if start == len(before) == len(after):
        return None
    left = sum(segment.cell_length for segment in after[:start]) + _same_start(before[start:], after[start:])
    before, after = before[start:][::-1], after[start:][::-1]
    end = _same(before, after)
    right = sum(segment.cell_length for segment in after[:end])
    return left, max(1, width - left - right)


def _same_start(before: list[Segment], after: list[Segment]) -> int:
    """How many cells at the beginning of the first segments are the same; only ASCII is looked into."""
    if not before or not after or before[0].style != after[0].style:
        return 0
    one, two = before[0].text, after[0].text
    if not (one.isascii() and two.isascii()):
        return 0
    return next((index for index, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def _same(one: list[Segment], two: list[Segment]) -> int:
    """How many leading segments are equal."""
    count = 0
    for a, b in zip(one, two, strict=False):
        if a != b:
            break
        count += 1
    return count


def wrap(text: str, width: int) -> list[str]:
    """`text` broken at blanks into lines of at most `width` cells; a word that is too long is cut across lines."""
    lines: list[str] = []
    for part in text.split("\n"):
        current = ""
        for word in part.split():
            for piece in _pieces(word, max(1, width)):
                joined = f"{current} {piece}" if current else piece
                if cell_len(joined) <= width:
                    current = joined
                    continue
                lines.append(current)
                current = piece
        lines.append(current)
    return lines


def _pieces(word: str, width: int) -> list[str]:
    if cell_len(word) <= width:
        return [word]
    pieces = []
    while word:
        size = width
        while size > 1 and cell_len(word[:size]) > width:
            size -= 1
        pieces.append(word[:size])
        word = word[size:]
    return pieces
