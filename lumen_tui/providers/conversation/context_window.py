"""Keeping a conversation inside its model's window."""

from __future__ import annotations

from collections.abc import Generator

from lumen_tui.providers.base import Reply, Step, TextUpdate
from lumen_tui.providers.conversation.calling import ModelCaller
from lumen_tui.providers.conversation.compaction import Compaction, compact
from lumen_tui.providers.conversation.history import Entry, Prompt

_COUNT_FROM = 0.6  # of the window: from here on the tokens are counted exactly where the API can
_CUT_FROM = 0.85
_CUT_TO = 0.5  # far below, as each cut makes the prompt cache worthless once


class ContextWindow:
    """Looks at each prompt before it is sent."""

    def __init__(self, caller: ModelCaller) -> None:
        self._caller = caller

    def fit(self, prompt: Prompt) -> Generator[Step, Reply | None, tuple[Entry, ...]]:
        """The entries of `prompt`, cut where they come near the window; the cut is said."""
        room = self._room
        tokens = self._tokens(prompt, room)
        if not room or tokens < _CUT_FROM * room:
            return prompt.entries
        size = self._caller.wire.size(prompt)
        shrunk = compact(prompt.entries, round(size * (1 - _CUT_TO * room / tokens)))
        if shrunk.pieces:
            yield TextUpdate(shrunk.said, kind="note")
        return shrunk.entries

    def halved(self, prompt: Prompt) -> Compaction:
        """Half of a conversation that the model refused as too long."""
        return compact(prompt.entries, self._caller.wire.size(prompt) // 2)

    @property
    def _room(self) -> int:
        """Tokens for a prompt; 0 where the window is not known."""
        wire = self._caller.wire
        return max(0, wire.target.endpoint.window - wire.max_output)

    def _tokens(self, prompt: Prompt, room: int) -> int:
        expected = self._caller.gauge.expected(self._caller.wire.size(prompt))
        if not room or expected < _COUNT_FROM * room:
            return expected
        return self._caller.wire.count(prompt) or expected
