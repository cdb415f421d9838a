"""A task's own budget as a person types it: `$0.50`, `100k`, or both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lumen_tui.model import budget

_ONE = re.compile(
    r"\s*(?:\$\s*(?P<usd>\d*\.?\d+)|(?P<tokens>\d{1,3}(?:,\d{3})+|\d*\.?\d+)\s*(?P<unit>[km]?)\s*(?P<said>tokens?)?)"
    r"\s*(?:,|and\b|$|(?=\$))",
    re.I,
)
_TIMES = {"": 1, "k": 1000, "m": 1_000_000}
_FEW = 1000  # tokens: a bare number below that was meant as dollars


def caps_of(text: str) -> dict[str, float]:
    """`tokens` and `usd` as far as they are named; empty for no budget. ValueError says what is understood."""
    found: dict[str, float] = {}
    at = 0
    while at < len(text.strip()):
        part = _ONE.match(text.strip(), at)
        if part is None:
            raise ValueError(f"{text!r} is not understood: write $0.50, 100k tokens, or both")
        at = part.end()
        found |= _amount(part)
    if why := budget.out_of_range(**found):
        raise ValueError(why)
    return {name: value for name, value in found.items() if value}


def _amount(part: re.Match[str]) -> dict[str, float]:
    if part["usd"]:
        return {"usd": float(part["usd"])}
    tokens = int(float(part["tokens"].replace(",", "")) * _TIMES[part["unit"].lower()])
    if 0 < tokens < _FEW and not (part["unit"] or part["said"]):
        raise ValueError(f"{tokens} tokens are too few for a call: write ${tokens} for dollars, 100k for tokens")
    return {"tokens": tokens}


def caps_typed(caps: Mapping[str, Any]) -> str:
    """The same as it is typed into a form; empty for no budget."""
    said = [f"{int(caps['tokens']):,} tokens"] if caps.get("tokens") else []
    return ", ".join([*said, budget.dollars(float(caps["usd"]))] if caps.get("usd") else said)
