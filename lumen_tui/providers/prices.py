"""What model calls cost. Published list prices in dollars per million tokens (platform.claude.com, November 2026)."""

from __future__ import annotations

import re

from msgspec import Struct

from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.tasks import Usage

_CACHE_READ = 0.1  # times the input price
_CACHE_WRITE = 1.25


class Price(Struct, frozen=True):
    """What a million tokens cost; above `band` prompt tokens everything costs `dearer` times as much."""

    input: float
    output: float
    band: int = 0
    dearer: float = 1.0
    cache_read: float | None = None  # None: a tenth of input
    cache_write: float | None = None  # None: a quarter more than input


PRICES = {
    "claude-haiku-5-5": Price(0.10, 0.50, band=100_000, dearer=5.0),
    "claude-sonnet-5-5": Price(2.0, 10.0, cache_read=0.10),
    "claude-sonnet-5": Price(2.0, 10.0),
    "claude-opus-5-5": Price(4.0, 20.0, cache_read=0.20),
    "claude-opus-5": Price(5.0, 25.0),
    "claude-fable-5-1": Price(10.0, 50.0, cache_read=0.25),
    "claude-fable-5": Price(10.0, 50.0),
    "claude-haiku-4-5": Price(1.0, 5.0),
    "claude-sonnet-4-6": Price(3.0, 15.0),
    "claude-sonnet-4-5": Price(3.0, 15.0),
    "claude-opus-4-8": Price(5.0, 25.0),
    "claude-opus-4-7": Price(5.0, 25.0),
    "claude-opus-4-6": Price(5.0, 25.0),
    "claude-opus-4-5": Price(5.0, 25.0),
}
DEAREST = max(PRICES.values(), key=lambda price: (price.output, price.cache_read is None))
FREE = Price(0.0, 0.0)


def known(model: str) -> Price | None:
    """Return the list price of a model by its exact id, with or without a date."""
    return PRICES.get(re.sub(r"-\d{8}$", "", model))


def price_of(config: ModelsConfig, endpoint: str, model: str, *, own: bool = False) -> Price | None:
    """Return the price of a model at an endpoint: the operator's word first; our `own` server costs nothing."""
    price = config.prices.get(f"{endpoint}:{model}") or config.prices.get(model)
    if price is not None:
        return Price(price.input, price.output, cache_read=price.cache_read, cache_write=price.cache_write)
    return FREE if own else known(model)


def cost(model: str, fresh: int, written: int, read: int, output: int, price: Price | None = None) -> Usage:
    """Return tokens and dollars of one call: `fresh`, `written` to and `read` from the cache make the prompt.

    A model without a known price counts as the dearest, so that caps hold.
    """
    price = price or known(model) or DEAREST
    reading = price.input * _CACHE_READ if price.cache_read is None else price.cache_read
    writing = price.input * _CACHE_WRITE if price.cache_write is None else price.cache_write
    prompt = fresh + written + read
    dollars = (fresh * price.input + read * reading + written * writing + output * price.output) / 1e6
    if 0 < price.band < prompt:
        dollars *= price.dearer
    return Usage(input_tokens=prompt, output_tokens=output, usd=dollars)
