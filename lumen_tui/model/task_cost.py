"""What a task has taken: attempts, time, model calls, tokens and money, added up from its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct, to_builtins

from lumen_tui.model import times
from lumen_tui.model.budget import dollars
from lumen_tui.model.tasks import TaskEvent


class TaskCost(Struct, frozen=True):
    """Over all attempts. `seconds` is from the first event of an attempt to its last, waits included."""

    attempts: int = 0
    seconds: float = 0.0
    calls: int = 0  # of a model
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0  # of the input: what a vendor's cache gave
    usd: float = 0.0

    def words(self) -> str:
        """Return all of it on a line; what is nothing is left out."""
        return ", ".join([*self._begun(), *self._spent()])

    def _begun(self) -> list[str]:
        if not self.attempts:
            return []
        return [times.span(self.seconds), "1 attempt" if self.attempts == 1 else f"{self.attempts} attempts"]

    def _spent(self) -> list[str]:
        if not self.calls:
            return []
        cached = f" ({self.cached_tokens:,} cached)" if self.cached_tokens else ""
        return [
            dollars(self.usd),
            "1 call" if self.calls == 1 else f"{self.calls:,} calls",
            f"{self.input_tokens:,} tokens in{cached}",
            f"{self.output_tokens:,} out",
        ]

    def fields(self) -> dict[str, object]:
        """Return it as `--json` has it."""
        known: dict[str, object] = to_builtins(self)
        return known


NOTHING_SPENT = TaskCost()


def cost_of(events: Iterable[TaskEvent], *, now: float = 0.0, usd: float | None = None) -> TaskCost:
    """Return what the events add up to. `now` ends an attempt that goes on; `usd` is what the ledger says instead."""
    spans: dict[int, list[float]] = {}
    sums: dict[str, float] = {}
    calls = 0
    for event in events:
        at = times.epoch(event.at)
        span = spans.setdefault(event.attempt, [at, at])
        span[1] = max(span[1], at)
        if event.kind == "usage":
            calls += 1
            for name in ("input_tokens", "output_tokens", "read_tokens", "usd"):
                sums[name] = sums.get(name, 0.0) + _number(event.data, name)
    if spans and now:
        last = spans[max(spans)]
        last[1] = max(last[1], now)
    return TaskCost(
        attempts=len(spans),
        seconds=round(sum(after - before for span in spans.values() for before, after in pairwise(span)), 3),
        calls=calls,
        input_tokens=int(sums.get("input_tokens", 0)),
        output_tokens=int(sums.get("output_tokens", 0)),
        cached_tokens=int(sums.get("read_tokens", 0)),
        usd=sums.get("usd", 0.0) if usd is None else usd,
    )


def _number(data: Mapping[str, Any], name: str) -> float:
    value = data.get(name, 0)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
