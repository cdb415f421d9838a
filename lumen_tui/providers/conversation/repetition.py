"""Models that go round in circles: the same call again and again, or calls that are none."""

from __future__ import annotations

import json
from enum import StrEnum

from lumen_tui.providers.conversation.history import ModelCall

MAX_SAME = 4  # calls in a row with the same arguments and the same result
MAX_CHANGING = 12  # the same, where each gave something else: somebody polls
MAX_BAD = 6  # calls in a row that were refused before they began, or had no arguments


class CallVerdict(StrEnum):
    """What becomes of a call."""

    GO = "go"
    REFUSE = "refuse"  # it is not made, and the model is told why
    END = "end"


class RepetitionGuard:
    """Watches the calls of one conversation."""

    def __init__(self) -> None:
        self._last = ""
        self._results: list[str] = []
        self._model_told = False
        self._bad = 0

    def judge(self, call: ModelCall) -> CallVerdict:
        """Return the verdict on this call. `add_result` gets its result afterwards."""
        key = f"{call.name} {call.bad} {json.dumps(call.arguments, sort_keys=True)}"
        if key != self._last:
            self._last, self._results, self._model_told = key, [], False
        limit = MAX_SAME if len(set(self._results)) <= 1 else MAX_CHANGING
        if len(self._results) < limit - 1 and not self._model_told:
            return CallVerdict.GO
        if self._model_told:
            return CallVerdict.END
        self._model_told = True
        return CallVerdict.REFUSE

    @property
    def times(self) -> int:
        """How many times in a row the last call came, this one included."""
        return len(self._results) + 1

    def add_result(self, text: str) -> None:
        """Note the result of the last call."""
        self._results.append(text)

    def count_bad_answer(self, bad: bool) -> bool:
        """Count an answer of nothing but bad calls; whether there were too many in a row."""
        self._bad = self._bad + 1 if bad else 0
        return self._bad >= MAX_BAD


def refusal_of(call: ModelCall, times: int) -> str:
    """Return what a model is told that makes the same call again."""
    return (
        f"Not done: this is call {times} of {call.name} in a row with the same arguments. It gives nothing new. "
        "Do something else, or write the result with what you have and say what is missing."
    )
