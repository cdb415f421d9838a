"""What the model calls inside Claude Code cost: set aside before each, settled after it, and the rest at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lumen_tui.model.modelsconfig import ModelsConfig
from lumen_tui.model.tasks import Usage
from lumen_tui.providers.base import Reserve, Spent, Step
from lumen_tui.providers.claude_code.program import MAX_OUTPUT
from lumen_tui.providers.conversation.calling import TokenEstimator
from lumen_tui.providers.conversation.history import TokenCounts
from lumen_tui.providers.prices import cost, price_of

NAME = "claude"
_FIRST = 20_000  # bytes of its own system prompt, its words on the machine and its own tool; about 13,000 were seen


class UsageCounter:
    """Counts the calls of one conversation. One is open from its Reserve until its Spent."""

    def __init__(self, config: ModelsConfig, model: str, sent: Callable[[], None]) -> None:
        self._config, self.model, self._sent = config, model, sent
        self._gauge = TokenEstimator()
        self._size = _FIRST
        self._open = False
        self._counts: TokenCounts | None = None  # of the call whose answer has begun
        self._known: dict[str, TokenCounts] = {}  # by model

    @property
    def answering(self) -> bool:
        """Whether an answer has begun and not ended."""
        return self._counts is not None

    def grew(self, text: str) -> None:
        """The conversation got longer."""
        self._size += len(text.encode("utf-8", "replace"))

    def ahead(self, *, gone: bool = False) -> Iterator[Step]:
        """Set the next call aside, unless that was done. It comes before everything that lets it be made.

        `gone`: the program makes the call by itself, and may have made it.
        """
        if self._open:
            return
        self._open = True
        yield Reserve(self._most(), self.model, tells=not gone)
        if not gone:
            self._sent()

    def begun(self, model: str, usage: Any) -> Iterator[Step]:
        """An answer begins. One that had begun before was cut off."""
        if self._counts is not None:
            yield from self.ended(ok=False)
        self.model = model or self.model
        yield from self.ahead(gone=True)
        self._counts = _counts(usage)

    def more(self, usage: Any) -> None:
        """Newer counts of the answer that is being written."""
        if self._counts is not None:
            self._counts = _larger(self._counts, _counts(usage))

    def ended(self, *, ok: bool = True) -> Iterator[Step]:
        """Settle the open call, where there is one."""
        if not self._open:
            return
        counts, self._counts, self._open = self._counts or TokenCounts(), None, False
        if ok:
            self._gauge.learn(self._size, counts)
        self._known[self.model] = _sum(self._known.get(self.model, TokenCounts()), counts)
        yield Spent(self._cost(self.model, counts), ok=ok)

    def lost(self) -> Iterator[Step]:
        """Settle a call whose end nobody saw: the server has read the prompt for all that is known."""
        if self._open:
            self._counts = self._counts or TokenCounts(fresh=self._gauge.expected(self._size))
            yield from self.ended(ok=False)

    def rest(self, by_model: Any) -> Iterator[Step]:
        """What was called besides (a summary of the conversation, a title), by the program's own totals."""
        yield from self.ended(ok=False)
        for model, totals in by_model.items() if isinstance(by_model, dict) else ():
            left = _difference(_totals(totals), self._known.get(str(model), TokenCounts()))
            if left.prompt or left.output:
                usage = self._cost(str(model), left)
                yield Reserve(usage, str(model))
                yield Spent(usage)

    def _most(self) -> Usage:
        prompt = self._gauge.most(self._size)
        kinds = (TokenCounts(fresh=prompt, output=MAX_OUTPUT), TokenCounts(written=prompt, output=MAX_OUTPUT))
        return max((self._cost(self.model, counts) for counts in kinds), key=lambda usage: usage.usd)

    def _cost(self, model: str, counts: TokenCounts) -> Usage:
        price = price_of(self._config, NAME, model)
        return cost(model, counts.fresh, counts.written, counts.read, counts.output, price)


def _number(found: Any, name: str) -> int:
    value = found.get(name) if isinstance(found, dict) else None
    return max(0, value) if isinstance(value, int) else 0


def _counts(usage: Any) -> TokenCounts:
    return TokenCounts(
        _number(usage, "input_tokens"), _number(usage, "cache_creation_input_tokens"),
        _number(usage, "cache_read_input_tokens"), _number(usage, "output_tokens"),
    )  # fmt: skip


def _totals(totals: Any) -> TokenCounts:
    return TokenCounts(
        _number(totals, "inputTokens"), _number(totals, "cacheCreationInputTokens"),
        _number(totals, "cacheReadInputTokens"), _number(totals, "outputTokens"),
    )  # fmt: skip


def _larger(one: TokenCounts, other: TokenCounts) -> TokenCounts:
    """An answer's counts only grow; what a newer line does not name is as before."""
    return TokenCounts(
        max(one.fresh, other.fresh), max(one.written, other.written), max(one.read, other.read),
        max(one.output, other.output),
    )  # fmt: skip


def _sum(one: TokenCounts, other: TokenCounts) -> TokenCounts:
    return TokenCounts(
        one.fresh + other.fresh, one.written + other.written, one.read + other.read, one.output + other.output
    )  # fmt: skip


def _difference(one: TokenCounts, other: TokenCounts) -> TokenCounts:
    return TokenCounts(
        max(0, one.fresh - other.fresh), max(0, one.written - other.written), max(0, one.read - other.read),
        max(0, one.output - other.output),
    )  # fmt: skip
