"""Published list prices in dollars per million tokens (platform.claude.com, November 2026)."""

from __future__ import annotations

import re

from msgspec import Struct

from lumen_tui.model.tasks import Usage

_CACHE_WRITE = 1.25  # times the input price; cached reads are counted at the full price, as nothing here asks for them


class Price(Struct, frozen=True):
    """What a million tokens cost; above `band` prompt tokens everything costs `dearer` times as much."""

    input: float
    output: float
    band: int = 0
    dearer: float = 1.0


PRICES = {
    "claude-haiku-5-5": Price(0.10, 0.50, band=100_000, dearer=5.0),
    "claude-sonnet-5-5": Price(2.0, 10.0),
    "claude-sonnet-5": Price(2.0, 10.0),
    "claude-opus-5-5": Price(4.0, 20.0),
    "claude-opus-5": Price(5.0, 25.0),
    "claude-fable-5-1": Price(10.0, 50.0),
    "claude-haiku-4-5": Price(1.0, 5.0),
    "claude-sonnet-4-6": Price(3.0, 15.0),
    "claude-sonnet-4-5": Price(3.0, 15.0),
    "claude-opus-4-6": Price(5.0, 25.0),
    "claude-opus-4-5": Price(5.0, 25.0),
}
DEAREST = max(PRICES.values(), key=lambda price: price.output)


def known(model: str) -> Price | None:
    """The price of a model by its exact id, with or without a date."""
    return PRICES.get(re.sub(r"-\d{8}$", "", model))


def cost(model: str, fresh: int, written: int, read: int, output: int) -> Usage:
    """Tokens and dollars of one call. A model without a known price counts as the dearest, so that caps hold."""
    price = known(model) or DEAREST
    prompt = fresh + written + read
    dollars = ((fresh + read + written * _CACHE_WRITE) * price.input + output * price.output) / 1e6
    if 0 < price.band < prompt:
        dollars *= price.dearer
    return Usage(input_tokens=prompt, output_tokens=output, usd=dollars)
