"""What the model calls inside Claude Code cost: reserved before each, settled after it, and the rest at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import add

from msgspec.structs import astuple

from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.tasks import Usage
from lumen_tui.providers.base import Reserve, Spent, Step
from lumen_tui.providers.claude_code.program import MAX_OUTPUT
from lumen_tui.providers.conversation.calling import TokenEstimator
from lumen_tui.providers.conversation.history import TokenCounts
from lumen_tui.providers.vendors.endpoints import cost, price_of

NAME = "claude"
_FIRST = 20_000  # bytes of its own system prompt, its words on the machine and its own tool; about 13,000 were seen
_PART = 10_000  # bytes of what each part of the operator's own set-up adds; its skills were seen to add 8,500

# names of the counts as the API reports them for one call, and as the program reports its totals
_USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_TOTALS = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")


class UsageCounter:
    """Counts the calls of one conversation. One is open from its Reserve until its Spent."""

    def __init__(self, config: ModelsConfig, model: str, sent: Callable[[], None], *, parts: int = 0) -> None:
        """`parts` is how much it has of the operator's own set-up."""
        self._config, self.model, self._sent = config, model, sent
        self._estimator = TokenEstimator()
        self._size = _FIRST + parts * _PART
        self._open = False
        self._counts: TokenCounts | None = None  # of the call whose answer has begun
        self._known: dict[str, TokenCounts] = {}  # by model

    @property
    def answering(self) -> bool:
        """Whether an answer has begun and not ended."""
        return self._counts is not None

    @property
    def usage(self) -> Usage:
        """What the answer that is being written costs so far."""
        return self._cost(self.model, self._counts or TokenCounts())

    def add_text(self, text: str) -> None:
        """Count a text that was added to the conversation."""
        self._size += len(text.encode("utf-8", "replace"))

    def reserve(self, *, already_sent: bool = False) -> Iterator[Step]:
        """Set the next call aside, unless that was done. It comes before everything that lets it be made.

        `gone`: the program makes the call by itself, and may have made it.
        """
        if self._open:
            return
        self._open = True
        yield Reserve(self._most(), self.model, tells=not already_sent)
        if not already_sent:
            self._sent()

    def begin(self, model: str, usage: object) -> Iterator[Step]:
        """Note that an answer begins, and settle one that had begun before: it was cut off."""
        if self._counts is not None:
            yield from self.settle(ok=False)
        self.model = model or self.model
        yield from self.reserve(already_sent=True)
        self._counts = _counts(usage, _USAGE)

    def update(self, usage: object) -> None:
        """Note newer counts of the answer that is being written."""
        if self._counts is not None:
            self._counts = _combined(max, self._counts, _counts(usage, _USAGE))

    def settle(self, *, ok: bool = True) -> Iterator[Step]:
        """Settle the open call, where there is one."""
        if not self._open:
            return
        counts, self._counts, self._open = self._counts or TokenCounts(), None, False
        if ok:
            self._estimator.learn(self._size, counts)
        self._known[self.model] = _combined(add, self._known.get(self.model, TokenCounts()), counts)
        yield Spent(self._cost(self.model, counts), ok=ok)

    def settle_lost(self) -> Iterator[Step]:
        """Settle a call whose end nobody saw: the server has read the prompt for all that is known."""
        if self._open:
            self._counts = self._counts or TokenCounts(fresh=self._estimator.expected(self._size))
            yield from self.settle(ok=False)

    def settle_rest(self, by_model: object) -> Iterator[Step]:
        """Settle what else was called (a summary of the conversation, a title), by the program's own totals."""
        yield from self.settle(ok=False)
        for model, totals in by_model.items() if isinstance(by_model, dict) else ():
            unsettled = _combined(_difference, _counts(totals, _TOTALS), self._known.get(str(model), TokenCounts()))
            if unsettled.prompt or unsettled.output:
                usage = self._cost(str(model), unsettled)
                yield Reserve(usage, str(model))
                yield Spent(usage)

    def _most(self) -> Usage:
        prompt = self._estimator.most(self._size)
        kinds = (TokenCounts(fresh=prompt, output=MAX_OUTPUT), TokenCounts(written=prompt, output=MAX_OUTPUT))
        return max((self._cost(self.model, counts) for counts in kinds), key=lambda usage: usage.usd)

    def _cost(self, model: str, counts: TokenCounts) -> Usage:
        price = price_of(self._config, NAME, model)
        return cost(model, counts.fresh, counts.written, counts.read, counts.output, price)


def _counts(report: object, names: tuple[str, ...]) -> TokenCounts:
    """Return the counts that are in a report under these names: new, written to the cache, read from it, output."""
    numbers = [report.get(name) if isinstance(report, dict) else None for name in names]
    return TokenCounts(*(max(0, number) if isinstance(number, int) else 0 for number in numbers))


def _combined(operation: Callable[[int, int], int], first: TokenCounts, second: TokenCounts) -> TokenCounts:
    return TokenCounts(*map(operation, astuple(first), astuple(second)))


def _difference(total: int, settled: int) -> int:
    return max(0, total - settled)
