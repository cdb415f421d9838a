"""A conversation with a model in a form that is no vendor's, and the guard against calls that are repeated in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lumen_tui.model.media import Media
from lumen_tui.providers.base import JsonObject, Tuning


class TokenCounts(Struct, frozen=True):
    """Tokens of one call, as it is billed: the prompt is `fresh + written + read`."""

    fresh: int = 0
    written: int = 0  # to the prompt cache
    read: int = 0  # from it
    output: int = 0
    hour: int = 0  # of those written, the ones that are kept for an hour

    @property
    def prompt(self) -> int:
        return self.fresh + self.written + self.read


class ModelCall(Struct, frozen=True):
    """A tool call that a model made. `bad` holds the arguments where they were no JSON object."""

    id: str
    name: str
    arguments: JsonObject = {}
    bad: str = ""
    extra: JsonObject = {}  # what the server wants back with it (Google signs calls), for the turn's `label` only


class Said(StrEnum):
    """Why something is said to a model."""

    WORDS = "words"  # the task, the operator, changed limits: never taken out of a conversation
    NUDGE = "nudge"  # the program's, about the answer before it
    SUMMARY = "summary"  # what stands for entries that were taken out


class UserMessage(Struct, frozen=True, tag="user"):
    """What the user, or the program in their name, said to the model."""

    text: str
    standing: int = 0  # characters at its beginning that other conversations of the role begin with, too
    kind: Said = Said.WORDS


class AssistantMessage(Struct, frozen=True, tag="assistant"):
    """What the model answered. `stop` is end, tool, length, pause, refusal, window or the server's own word."""

    text: str = ""
    calls: tuple[ModelCall, ...] = ()
    stop: str = "end"
    counts: TokenCounts = TokenCounts()
    native: Any = None  # the answer as the vendor's API wants it back (thinking and signatures), for `label` only
    label: str = ""
    reasoning: str | None = None  # its thinking in the field in which the server wants it back; for `label` only
    stop_detail: str = ""  # the server's own words on `stop`

    @property
    def makes_calls(self) -> bool:
        """Whether it waits for the results of its calls."""
        return self.stop == "tool" and bool(self.calls)


class ResultMessage(Struct, frozen=True):
    """What one call gave."""

    call_id: str
    name: str
    text: str
    ok: bool = True
    media: tuple[Media, ...] = ()


class ResultMessages(Struct, frozen=True, tag="results"):
    """What the calls of a turn gave, in order."""

    results: tuple[ResultMessage, ...]


Entry = UserMessage | AssistantMessage | ResultMessages


def without_native(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return the entries without the vendors' own blocks: thinking is signed for all before it, and is refused now."""
    return tuple(replace(entry, native=None) if isinstance(entry, AssistantMessage) else entry for entry in entries)


def characters(entry: Entry) -> int:
    """Return the characters of text in an entry; an image or a PDF counts as the text that has as many tokens."""
    if isinstance(entry, ResultMessages):
        return sum(len(result.text) + sum(attachment.weight for attachment in result.media) for result in entry.results)
    if isinstance(entry, AssistantMessage):
        return len(entry.text) + len(entry.reasoning or "") + sum(len(str(call.arguments)) for call in entry.calls)
    return len(entry.text)


class Prompt(Struct, frozen=True):
    """One request to a model."""

    system: str
    tools: tuple[Any, ...]  # of ToolDeclaration
    entries: tuple[Entry, ...]
    tuning: Tuning = Tuning()
    load: Callable[[Media], bytes | None] = lambda media: None  # the bytes of an image or a PDF; None: they are gone


def without_surrogates(text: str) -> str:
    """`text` without lone surrogates, which JSON can carry and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def clean_json(value: object) -> Any:
    """Return a JSON value without lone surrogates in any of its texts."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {without_surrogates(str(key)): clean_json(inner) for key, inner in value.items()}
    return [clean_json(inner) for inner in value] if isinstance(value, list) else value


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
