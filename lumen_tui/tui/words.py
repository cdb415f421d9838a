"""Numbers and times as the room says them: short, in one unit, and coarse enough to stand still."""

from __future__ import annotations

from lumen_tui.model.operators import OperatorsView
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.times import age as age
from lumen_tui.model.times import ago as ago
from lumen_tui.model.times import until as until

_PATH = lazy_re(r"(?<![^\s\"'`(])~?(?:/[^/\s]+)+(?=/[^/\s]+/[^/\s]+)")  # all but the last two names of a path
_LONG = 12  # characters of a path's beginning that a row does not spare room for


def number(value: int) -> str:
    """`1204` -> `1,204`."""
    return f"{value:,}"


def kilo(value: int) -> str:
    """`61400` -> `61 k`, `1250000` -> `1.2 M`."""
    if value < 1000:
        return str(value)
    if value < 1_000_000:
        return f"{value / 1000:.0f} k" if value >= 10_000 else f"{value / 1000:.1f} k"
    return f"{value / 1_000_000:.1f} M"


def money(usd: float) -> str:
    """`$0.42`."""
    return f"${usd:.2f}"


def percent(share: float) -> str:
    """`0.22` -> `22 %`."""
    return f"{share * 100:.0f} %"


def plural(count: int, singular: str, many: str = "") -> str:
    """`1 row`, `1,204 rows`."""
    return f"{number(count)} {singular if count == 1 else many or singular + 's'}"


def sentence(text: str) -> str:
    """`name 'x' is unknown` -> `Name 'x' is unknown`."""
    return f"{text[:1].upper()}{text[1:]}"


def short_paths(text: str) -> str:
    """`errors in /srv/agents/one/project/log` -> `errors in …/project/log`: a row has no room for the beginning."""
    return _PATH.sub(lambda match: "…" if len(match[0]) > _LONG else match[0], text) if "/" in text else text


def held(operators: OperatorsView, target: str, text: str) -> str:
    """Return a row's text, behind who has claimed it where somebody has: `ana has it: push the branch`."""
    holder = operators.holder(target)
    return f"{holder}: {text}" if holder else text
