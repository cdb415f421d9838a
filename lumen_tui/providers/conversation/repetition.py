"""Models that go round in circles: the same call again and again, or calls that are none."""

from __future__ import annotations

import json
from enum import StrEnum

from lumen_tui.providers.conversation.history import ModelCall

SAME = 4  # calls in a row with the same arguments and the same result
CHANGING = 12  # the same, where each gave something else: somebody polls
NONSENSE = 6  # calls in a row that were refused before they began, or had no arguments


class CallVerdict(StrEnum):
    """What becomes of a call."""

    GO = "go"
    TELL = "tell"  # it is not made, and the model is told why
    END = "end"


class RepetitionGuard:
    """Watches the calls of one conversation."""

    def __init__(self) -> None:
        self._last = ""
        self._results: list[str] = []
        self._told = False
        self._bad = 0

    def look(self, call: ModelCall) -> CallVerdict:
        """What becomes of this call; `seen` tells its result afterwards."""
        key = f"{call.name} {call.bad} {json.dumps(call.arguments, sort_keys=True)}"
        if key != self._last:
            self._last, self._results, self._told = key, [], False
        limit = SAME if len(set(self._results)) <= 1 else CHANGING
        if len(self._results) < limit - 1 and not self._told:
            return CallVerdict.GO
        if self._told:
            return CallVerdict.END
        self._told = True
        return CallVerdict.TELL

    @property
    def times(self) -> int:
        """How many times in a row the last call came, this one included."""
        return len(self._results) + 1

    def seen(self, text: str) -> None:
        """What the last call gave."""
        self._results.append(text)

    def nonsense(self, bad: bool) -> bool:
        """Count an answer of nothing but bad calls; whether there were too many in a row."""
        self._bad = self._bad + 1 if bad else 0
        return self._bad >= NONSENSE


def refusal_of(call: ModelCall, times: int) -> str:
    """What a model is told that makes the same call again."""
    return (
        f"Not done: this is call {times} of {call.name} in a row with the same arguments. It gives nothing new. "
        "Do something else, or write the result with what you have and say what is missing."
    )
