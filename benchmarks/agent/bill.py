"""What the requests of a story cost: as the server counts them, at the prices that the program has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lumen_apiserver import Request
from msgspec import Struct

from lumen_tui.providers.vendors.endpoints import cost


class Call(Struct, frozen=True):
    """One request for an answer, and its counts."""

    role: str  # main | worker | summary
    model: str
    fresh: int
    written: int
    hour: int  # of those written, the ones that are kept for an hour
    read: int
    output: int

    @property
    def usd(self) -> float:
        return cost(self.model, self.fresh, self.written, self.read, self.output, hour=self.hour).usd


class Total(Struct, frozen=True):
    """What some requests come to."""

    calls: int = 0
    prompt: int = 0
    read: int = 0
    output: int = 0
    usd: float = 0.0

    @property
    def share(self) -> float:
        """How much of all input was read from the cache."""
        return self.read / self.prompt if self.prompt else 0.0


def call_of(request: Request, usage: dict[str, Any]) -> Call:
    """Return the counts of a request. A session of the main agent is the one that can deposit."""
    role = "main" if "deposit" in request.tool_names else "worker"
    return Call(
        role if request.tool_names else "summary",
        request.model,
        usage["input_tokens"],
        usage["cache_creation_input_tokens"],
        usage["cache_creation"]["ephemeral_1h_input_tokens"],
        usage["cache_read_input_tokens"],
        usage["output_tokens"],
    )


def total(calls: Iterable[Call]) -> Total:
    """Add requests up."""
    found = list(calls)
    return Total(
        len(found),
        sum(call.fresh + call.written + call.read for call in found),
        sum(call.read for call in found),
        sum(call.output for call in found),
        sum(call.usd for call in found),
    )
