"""One call of a model: its cost is reserved, it is made and retried, and what it streams is passed on at intervals."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence

from msgspec import Struct

from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.tasks import Usage
from lumen_tui.model.times import span
from lumen_tui.providers.base import (
    LEAST_OUTPUT,
    EndpointClosed,
    Job,
    ProviderError,
    Reply,
    Reserve,
    Spent,
    Step,
    TextUpdate,
)
from lumen_tui.providers.conversation.history import AssistantMessage, Prompt, TokenCounts
from lumen_tui.providers.errors import LIMIT, ModelCallError
from lumen_tui.providers.vendors.endpoints import DEAREST, cost, price_of
from lumen_tui.providers.vendors.sdk_client import ModelClient, patience

_INTERVAL = 0.5  # seconds between two pieces
_PIECE = 1_500  # characters that are sent at once, whatever the time
_LIVE = 20_000  # characters of one answer that are sent on the way; the rest comes in one piece
_SILENCE_NOTE = 15.0  # seconds without a text after which a word says that the model is still at it


class StreamThrottle:
    """Collects the parts of one answer. The pieces, put together, are the answer's text."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._waiting = ""
        self._sent = 0
        self._last = now()
        self._silence = -1.0

    def take(self, part: str) -> Iterator[TextUpdate]:
        """Take one more part; an empty one is a sign of life without text (thinking, a call being written)."""
        self._waiting += part
        elapsed = abs(self._now() - self._last)  # a clock that was set back must not silence it
        self._silence = elapsed if self._silence < 0 else self._silence
        if self._due(elapsed) and (end := _boundary(self._waiting)):
            yield self._send(end)
        elif not self._waiting and elapsed > _SILENCE_NOTE:
            self._last = self._now()
            yield TextUpdate("the model is at work on its answer", kind="note")

    @property
    def silence(self) -> float:
        """Seconds until the first part came, or until now where none has come."""
        return self._silence if self._silence >= 0 else abs(self._now() - self._last)

    def finish(self) -> Iterator[TextUpdate]:
        """Yield what was not sent yet."""
        if self._waiting:
            yield self._send(len(self._waiting))

    def _due(self, elapsed: float) -> bool:
        return self._sent < _LIVE and (elapsed >= _INTERVAL or len(self._waiting) >= _PIECE)

    def _send(self, end: int) -> TextUpdate:
        piece, self._waiting = self._waiting[:end], self._waiting[end:]
        self._sent += len(piece)
        self._last = self._now()
        return TextUpdate(piece)


def _boundary(text: str) -> int:
    """Return where the last line ends, else the last word; the whole length of a long text that has neither."""
    if line := text.rfind("\n") + 1:
        return line
    return text.rfind(" ") + 1 or (len(text) if len(text) >= _PIECE else 0)


Answered = Generator[Step, Reply | None, AssistantMessage]
_OVERHEAD = 500  # tokens of a request that are in no text of ours
_OUTPUT = 8_000  # tokens that an answer is taken to have at most where no limit is sent
_SLOW = 30.0  # seconds until an answer began
_FIRST_WAIT = 1.0  # seconds
_LONGEST_WAIT = 60.0
_LONGEST_TOKEN = 8  # bytes: no text of words or code has longer ones as a whole


class RetryPolicy(Struct, frozen=True):
    """How often and how long a call is tried before it is given up."""

    tries: int = 8
    longest: float = 600.0  # seconds of one wait that a server may ask for


SHORT_RETRY = RetryPolicy(tries=3, longest=20.0)  # where another model can take over


def back_off(number: int, retry_after: float | None, chance: float) -> float:
    """Return the seconds before try `number` + 1: doubling from one to sixty, half of it by chance (0 to 1).

    Where the server asked for a time (`retry_after`): that and up to a tenth more, so that workers do not all
    come back at once.
    """
    if retry_after is not None:
        return retry_after * (1.0 + 0.1 * chance)
    return min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(number - 1, 10)) * (0.5 + 0.5 * chance)


class TokenEstimator:
    """Tokens of a request before it is made, from its size and from what the last one of this model had."""

    def __init__(self) -> None:
        self._bytes = self._prompt = self._tokens = 0

    def learn(self, size: int, counts: TokenCounts) -> None:
        """Learn from what a request of `size` bytes really had."""
        if counts.prompt:
            self._bytes, self._prompt, self._tokens = size, counts.prompt, counts.prompt + counts.output

    def expected(self, size: int) -> int:
        """Return the tokens that a request of `size` bytes has, about."""
        return round(size * self._prompt / self._bytes) if self._bytes else size * 2 // 7

    def most(self, size: int) -> int:
        """Return the most that it can have: two bytes a token for all that was not counted yet."""
        if 0 < self._bytes <= size:
            return self._tokens + (size - self._bytes) // 2 + _OVERHEAD
        return size // 2 + _OVERHEAD


class ModelCaller:
    """Makes the calls of one conversation. The first wire answers for as long as it does.

    `answered` takes each whole answer with its cost, before anything else sees it, and returns it as it is to be used.
    """

    def __init__(
        self, wires: Sequence[ModelClient], config: ModelsConfig, job: Job, retry: RetryPolicy | None = None
    ) -> None:
        self._wires, self._config, self._job = list(wires), config, job
        self._retry = retry or RetryPolicy(tries=config.tries)
        self.answered: Callable[[AssistantMessage, Usage], AssistantMessage] = lambda turn, usage: turn
        self._place = 0
        self._introduced = self._truncation_reported = -1
        self._slow = False  # whether the next answer may be long in coming
        self.estimator = TokenEstimator()
        self.used = [wires[0].target.label]

    @property
    def wire(self) -> ModelClient:
        """The one that answers now."""
        return self._wires[self._place]

    def call(self, prompt: Prompt) -> Answered:
        """Make one call of the current model and return its answer. Raises ModelCallError."""
        yield from self._introduce()
        return (yield from self._with_retries(prompt))

    @property
    def _has_next(self) -> bool:
        return self._place + 1 < len(self._wires)

    def hand_over(self, error: ModelCallError) -> TextUpdate | None:
        """Let the next model go on, where that can help and there is one. The conversation may not fit its window."""
        if not error.other_model_helps or not self._has_next:
            return None
        before = self.wire.target.label
        self._place += 1
        self.estimator = TokenEstimator()
        label = self.wire.target.label
        self.used.append(label)
        return TextUpdate(f"{before} did not answer, {label} goes on from here: {error.brief}", kind="note")

    def _introduce(self) -> Generator[Step, Reply | None, None]:
        """Report what is worth knowing of a model before its first call."""
        if self._introduced == self._place:
            return
        self._introduced = self._place
        target = self.wire.target
        if price_of(self._config, target.endpoint.name, target.model, own=target.endpoint.own) is None:
            yield TextUpdate(
                f"no price is known for {target.model}: counted as the dearest, ${DEAREST.input:g} and "
                f"${DEAREST.output:g} per million tokens, so that budgets hold; set it under [models.prices]",
                kind="note",
            )
        self._slow = target.endpoint.kind != "anthropic"

    def _wait_notice(self) -> TextUpdate:
        """Return a notice, so that a worker is not taken for a hung one while its model says nothing."""
        target = self.wire.target
        reason = "may have to load first" if target.endpoint.own else "says nothing while it thinks"
        until = self._job.now() + patience(self._config, target)
        return TextUpdate(f"waits for {target.label}, which {reason}", kind="wait", data={"until": until})

    def _with_retries(self, prompt: Prompt) -> Answered:
        patience = SHORT_RETRY if self._has_next else self._retry
        tries = min(patience.tries, self._config.tries)
        number = 1
        while True:
            try:
                return (yield from self._request(prompt))
            except ModelCallError as error:
                if error.closed == LIMIT and (yield from self._open_again(error)):
                    number = 1
                    continue
                wait = back_off(number, error.retry_after_seconds, self._job.chance())
                if not error.retryable or number >= tries:
                    error.count(number)
                    raise
                if wait > patience.longest:
                    raise _too_long(error, wait) from error
                yield self._retry_notice(error, wait, number, tries)
                self._job.pause(wait)
            number += 1

    def _open_again(self, error: ModelCallError) -> Generator[Step, Reply | None, bool]:
        """Return whether the conversation has waited for the end of a limit. One that stands by goes on at once."""
        if self._has_next:
            return False
        reply = yield EndpointClosed(error.endpoint, error.closed, error.resets_at, error.brief)
        return reply is not None and reply.ok

    def _retry_notice(self, error: ModelCallError, wait: float, number: int, tries: int) -> TextUpdate:
        data = {"until": self._job.now() + wait, "try": number + 1, "tries": tries}
        return TextUpdate(
            f"trying again in {span(wait)} ({number + 1} of {tries}): {error.brief}", kind="wait", data=data
        )

    def _request(self, prompt: Prompt) -> Answered:
        """Make one request: reserved before it and settled after it, whatever its result."""
        size = self.wire.size(prompt)
        reply = yield self._reserve(size)
        if self._slow:
            yield self._wait_notice()
        throttle = StreamThrottle(self._job.now)
        stream = self.wire.ask(prompt, int(reply.data.get("output", 0)) if reply else 0, self._job.sent)
        try:
            while True:
                yield from throttle.take(next(stream))
        except StopIteration as end:
            turn: AssistantMessage = end.value
        except ProviderError as error:  # a ModelCallError, or a package that is missing: then nothing was asked
            yield Spent(self._cost(error.counts if isinstance(error, ModelCallError) else TokenCounts()), ok=False)
            raise
        finally:
            stream.close()
            self._slow = self.wire.target.endpoint.kind != "anthropic" and throttle.silence > _SLOW
        turn = self.answered(turn, self._cost(turn.counts))  # first of all: what is paid is never lost
        yield from throttle.finish()
        self.estimator.learn(size, turn.counts)
        yield Spent(self._cost(turn.counts), window=self.wire.target.endpoint.window)
        yield from self._check_truncation(size, turn.counts.prompt)
        return turn

    def _check_truncation(self, size: int, read: int) -> Iterator[TextUpdate]:
        """Report a server of our own that read far less than it was sent: it cut the beginning off, as Ollama does."""
        target = self.wire.target
        if not target.endpoint.own or self._truncation_reported == self._place or not 0 < read * _LONGEST_TOKEN < size:
            return
        self._truncation_reported = self._place
        yield TextUpdate(
            f"{target.label} has read {read:,} tokens of about {size * 2 // 7:,}: it seems to cut the beginning of the "
            f"conversation off. Give it a larger context (num_ctx in Ollama), and say it as window under "
            f"[models.endpoints.{target.endpoint.name}]",
            kind="note",
        )

    def _cost(self, counts: TokenCounts) -> Usage:
        target = self.wire.target
        price = price_of(self._config, target.endpoint.name, target.model, own=target.endpoint.own)
        return cost(target.model, counts.fresh, counts.written, counts.read, counts.output, price, hour=counts.hour)

    def _reserve(self, size: int) -> Reserve:
        output = self.wire.max_output or _OUTPUT
        least = self._most(size, LEAST_OUTPUT) if output > LEAST_OUTPUT else None
        return Reserve(self._most(size, output), self.wire.target.model, least, tells=True)

    def _most(self, size: int, output: int) -> Usage:
        prompt = self.estimator.most(size)
        hour = prompt if self._job.tuning.cache else 0
        kinds = (TokenCounts(fresh=prompt, output=output), TokenCounts(written=prompt, output=output, hour=hour))
        return max((self._cost(counts) for counts in kinds), key=lambda usage: usage.usd)


def _too_long(error: ModelCallError, wait: float) -> ModelCallError:
    """The server's own word where it gave one; what is added so that not all come back at once is ours."""
    delay = f"the next try would come after {span(wait)}"
    if error.retry_after_seconds is not None:
        delay = f"the server asks to wait {span(error.retry_after_seconds)}"
    return ModelCallError(
        error.brief,
        f"{error.advice}; {delay}" if error.advice else delay,
        other_model_helps=error.other_model_helps,
        closed=error.closed,
        resets_at=error.resets_at,
        endpoint=error.endpoint,
    )
