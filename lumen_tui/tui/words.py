"""Numbers and times as the room says them: short, in one unit, and coarse enough to stand still."""

from __future__ import annotations

import re

from lumen_tui.model.times import DAY, HOUR, MINUTE

_PATH = re.compile(r"(?<![^\s\"'`(])~?(?:/[^/\s]+)+(?=/[^/\s]+/[^/\s]+)")  # all but the last two names of a path
_LONG = 12  # characters of a path's beginning that a row does not spare room for
_COARSE = 10  # seconds: below a minute a time moves in steps of this


def number(value: int) -> str:
    """`1204` -> `1 204`."""
    return f"{value:,}".replace(",", " ")


def kilo(value: int) -> str:
    """`61400` -> `61 k`, `1250000` -> `1.2 M`."""
    if value < 1000:
        return str(value)
    if value < 1_000_000:
        return f"{value / 1000:.0f} k" if value >= 10_000 else f"{value / 1000:.1f} k"
    return f"{value / 1_000_000:.1f} M"


def age(seconds: float) -> str:
    """An age in a list: `now`, `20 s`, `5 min`, `3 h`, `9 d`."""
    if seconds < _COARSE:
        return "now"
    if seconds < MINUTE:
        return f"{int(seconds // _COARSE) * _COARSE} s"
    for limit, size, unit in ((HOUR, MINUTE, "min"), (2 * DAY, HOUR, "h")):
        if seconds < limit:
            return f"{int(seconds // size)} {unit}"
    return f"{number(int(seconds // DAY))} d"


def ago(seconds: float) -> str:
    """`4 min ago`, or `just now`."""
    words = age(seconds)
    return "just now" if words == "now" else f"{words} ago"


def until(seconds: float) -> str:
    """How long to go: `in 6 h`, `in 3 d`, or `now`."""
    words = age(seconds)
    return words if words == "now" else f"in {words}"


def money(usd: float) -> str:
    """`$0.42`."""
    return f"${usd:.2f}"


def plural(count: int, one: str, many: str = "") -> str:
    """`1 row`, `1 204 rows`."""
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def sentence(text: str) -> str:
    """`name 'x' is unknown` -> `Name 'x' is unknown`."""
    return f"{text[:1].upper()}{text[1:]}"


def short_paths(text: str) -> str:
    """`errors in /srv/agents/one/project/log` -> `errors in …/project/log`: a row has no room for the beginning."""
    return _PATH.sub(lambda found: "…" if len(found[0]) > _LONG else found[0], text) if "/" in text else text
