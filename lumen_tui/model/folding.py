"""Long text shortened for people: long blank runs are folded, and every cut is marked."""

from __future__ import annotations

import re
from itertools import groupby

from lumen_tui.model.text import safe

_EMPTY_LINES = 3  # from which a run of them is folded
_BLANKS = re.compile(r"[^\S\n]{40,}")  # a gap that no aligned code has
_TAIL = 3  # one in so many characters of what is kept shows the end


def fold(text: str) -> str:
    """Return `text` made safe, with `… 399 empty lines …` and `… 3 000 blanks …` in place of long blank runs."""
    lines: list[str] = []
    for empty, run in groupby(safe(text).expandtabs(4).split("\n"), key=lambda part: not part.strip()):
        parts = list(run)
        folded = empty and len(parts) >= _EMPTY_LINES
        lines += [f"… {_number(len(parts))} empty lines …"] if folded else [_BLANKS.sub(_gap, part) for part in parts]
    return "\n".join(lines)


def _gap(run: re.Match[str]) -> str:
    return f" … {_number(len(run[0]))} blanks … "


def brief(text: str, limit: int) -> str:
    """`text` folded, on one line, at most `limit` characters: its beginning and its end, and how much is between."""
    flat = " ".join(fold(text).split())
    if len(flat) <= limit:
        return flat
    between = f" … {_number(len(flat) - limit)} more characters … "
    room = max(0, limit - len(between))
    tail = room // _TAIL
    return f"{flat[: room - tail]}{between}{flat[len(flat) - tail :]}"


def line_count(text: str) -> int:
    """Return how many lines `text` has, an ending line break apart."""
    return len(text.removesuffix("\n").split("\n"))


def _number(value: int) -> str:
    return f"{value:,}".replace(",", " ")
