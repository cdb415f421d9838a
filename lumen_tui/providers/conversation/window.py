"""Keeping a conversation inside its model's window: the earlier steps are summed up, else old results are cut."""

from __future__ import annotations

from collections.abc import Generator

from msgspec import Struct
from msgspec.structs import replace

from lumen_tui.providers.base import Job, Reply, Step, TextUpdate
from lumen_tui.providers.conversation.calling import ModelCaller
from lumen_tui.providers.conversation.compaction import Compaction, compact
from lumen_tui.providers.conversation.earlier import part
from lumen_tui.providers.conversation.history import Entry, Prompt
from lumen_tui.providers.conversation.steps import Rewritten, Summary
from lumen_tui.providers.conversation.summing_up import NoSummary, Summariser

_COUNT_FROM = 0.6  # of the window: from here on the tokens are counted exactly where the API can
_FULL = 0.8  # from here on there has to be more room
_CUT_TO = 0.5  # far below, as each cut makes the prompt cache worthless once
_RECENT = 0.2  # of the window: what the newest entries may have
_WORTH = 0.15  # of the window: with less to sum up a summary would soon be needed again


class Fitted(Struct, frozen=True):
    """A conversation that fits, and its newest summary."""

    entries: tuple[Entry, ...]
    summary: Summary | None


class ContextWindow:
    """Looks at each prompt before it is sent, and records what it changes in a conversation."""

    def __init__(self, caller: ModelCaller, job: Job, summariser: Summariser) -> None:
        self._caller = caller
        self._job = job
        self._summariser = summariser

    def fit(self, prompt: Prompt, last: Summary | None) -> Generator[Step, Reply | None, Fitted]:
        """Return the entries of `prompt`, fewer where they come near the window; `last` is the newest summary."""
        limit = self._prompt_limit
        tokens = self._tokens(prompt, limit)
        if not limit or tokens < _FULL * limit:
            return Fitted(prompt.entries, last)
        summary, reason = yield from self._summed_up(prompt, limit, tokens, last)
        if summary is not None:
            last, prompt = summary, replace(prompt, entries=summary.after(prompt.entries))
            tokens = self._tokens(prompt, limit)
            if tokens < _FULL * limit:
                return Fitted(prompt.entries, last)
        size = self._caller.wire.size(prompt)
        compaction = compact(prompt.entries, round(size * (1 - _CUT_TO * limit / tokens)))
        if compaction.pieces:
            yield self.use(compaction, reason)
        return Fitted(compaction.entries, last)

    def _summed_up(
        self, prompt: Prompt, limit: int, tokens: int, last: Summary | None
    ) -> Generator[Step, Reply | None, tuple[Summary | None, str]]:
        """Return the summary that now stands for the earlier entries, else why there is none."""
        scale = self._caller.wire.size(prompt) / max(1, tokens)  # bytes a token
        parting = part(prompt.entries, round(_RECENT * limit * scale))
        if parting.size < _WORTH * limit * scale:
            return None, ""
        try:
            return (yield from self._summariser.sum_up(parting, self._caller.wire.target, limit, last)), ""
        except NoSummary as problem:
            return None, str(problem)

    def use(self, compaction: Compaction, reason: str = "") -> TextUpdate:
        """Record a cut and return a notice of it; `reason` says why the steps are not summed up instead."""
        self._job.keep(Rewritten(compaction.entries))
        return TextUpdate(f"{compaction.summary}{f' (no summary: {reason})' if reason else ''}", kind="note")

    def halve(self, prompt: Prompt) -> Compaction:
        """Cut a conversation that the model refused as too long down to half."""
        return compact(prompt.entries, self._caller.wire.size(prompt) // 2)

    @property
    def _prompt_limit(self) -> int:
        """Tokens for a prompt; 0 where the window is not known."""
        wire = self._caller.wire
        return max(0, wire.target.endpoint.window - wire.max_output)

    def _tokens(self, prompt: Prompt, limit: int) -> int:
        expected = self._caller.estimator.expected(self._caller.wire.size(prompt))
        if not limit or expected < _COUNT_FROM * limit:
            return expected
        return self._caller.wire.count(prompt) or expected
