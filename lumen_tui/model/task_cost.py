"""What a task has taken: attempts, time, model calls, tokens and money, added up from its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import replace

from lumen_tui.model import times
from lumen_tui.model.budget import dollars
from lumen_tui.model.tasks import TaskEvent


class Progress(Struct, frozen=True, omit_defaults=True):
    """What an attempt used of what it may, as of its last model call; a limit of 0 is none."""

    steps: int = 0  # tool calls
    most_steps: int = 0
    seconds: float = 0.0  # of its time limit, which stands still while it waits for a person
    most_seconds: float = 0.0
    usd: float = 0.0
    most_usd: float = 0.0
    tokens: int = 0  # as caps count them
    most_tokens: int = 0
    filled: int = 0  # tokens of the last prompt and its answer
    window: int = 0  # tokens that the model takes; 0: not known

    def words(self) -> str:
        """`12 of 40 steps, 80 s of 10 m, $0.12 of $0.50, 34 % of the window`; what has no limit is left out."""
        parts = [f"{self.steps:,} of {self.most_steps:,} steps"] if self.most_steps else []
        parts += [f"{times.span(self.seconds)} of {times.limit(self.most_seconds)}"] if self.most_seconds else []
        parts += [f"{dollars(self.usd, self.most_usd)} of {dollars(self.most_usd)}"] if self.most_usd else []
        parts += [f"{self.tokens:,} of {self.most_tokens:,} tokens"] if self.most_tokens else []
        return ", ".join([*parts, f"{self.filled / self.window:.0%} of the window"] if self.window else parts)


class TaskCost(Struct, frozen=True):
    """Over all attempts. `seconds` is from the first event of an attempt to its last, waits included."""

    attempts: int = 0
    seconds: float = 0.0
    calls: int = 0  # of a model
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0  # of the input: what a vendor's cache gave
    usd: float = 0.0
    progress: Progress = Progress()

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
    calls, progress = 0, Progress()
    for event in events:
        at = times.epoch(event.at)
        span = spans.setdefault(event.attempt, [at, at])
        span[1] = max(span[1], at)
        if event.kind == "usage":
            calls += 1
            progress = _progress(event, progress)
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
        progress=progress,
    )


def progress_of(events: Iterable[TaskEvent]) -> Progress:
    """Return what the last of these events tells that tells anything."""
    progress = Progress()
    for event in events:
        if event.kind == "usage":
            progress = _progress(event, progress)
    return progress


def _progress(event: TaskEvent, before: Progress) -> Progress:
    """Return what an event tells; a call that was no step of the task says nothing of the window."""
    try:
        progress = convert(event.data.get("progress", {}), Progress)
    except ValidationError:
        return before  # a later version wrote it
    if progress.most_steps:  # calls beyond them are refused, but for one that writes the result
        progress = replace(progress, steps=min(progress.steps, progress.most_steps))
    return progress if progress.window else replace(progress, filled=before.filled, window=before.window)


def _number(data: Mapping[str, Any], name: str) -> float:
    value = data.get(name, 0)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
