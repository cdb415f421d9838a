"""An answer of a chat completions API put together from its chunks, whatever they hold."""

from __future__ import annotations

from typing import Any

from lumen_tui.providers.anthropic_stream import arguments_of, as_table, clean_id
from lumen_tui.providers.endpoints import Target
from lumen_tui.providers.failing import rubbish
from lumen_tui.providers.history import Call, Counts, Turn, whole
from lumen_tui.providers.wire import MOST_CHARACTERS, too_long

_STOPS = {
    "stop": "end", "tool_calls": "tool", "function_call": "tool", "length": "length", "content_filter": "refusal",
}  # fmt: skip


class Completion:
    """One answer on its way. `guess` is the tokens of the prompt, for servers that do not count."""

    def __init__(self, target: Target, guess: int) -> None:
        self._target, self._guess = target, guess
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._usage: dict[str, Any] = {}
        self._stop = ""
        self._characters = 0

    def take(self, chunk: dict[str, Any]) -> str:
        """One chunk; returns the text that it adds for the reader. Raises Failure."""
        self._usage = as_table(chunk.get("usage")) or self._usage
        choices = chunk.get("choices")
        choice = as_table(choices[0]) if isinstance(choices, list) and choices else {}
        self._stop = str(choice.get("finish_reason") or self._stop)
        delta = as_table(choice.get("delta"))
        self._refusal.append(self._counted(delta.get("refusal")))
        self._counted(delta.get("reasoning_content"))
        listed = delta.get("tool_calls")
        for part in listed if isinstance(listed, list) else []:
            self._take_call(as_table(part))
        text = self._counted(delta.get("content"))
        self._text.append(text)
        return text

    def _take_call(self, part: dict[str, Any]) -> None:
        index = part.get("index")
        if not isinstance(index, int):  # servers that send each call whole count none
            index = len(self._calls)
        call = self._calls.setdefault(index, {"id": "", "name": "", "arguments": []})
        function = as_table(part.get("function"))
        call["id"] = call["id"] or str(part.get("id") or "")
        call["name"] = call["name"] or self._counted(function.get("name"))
        call["arguments"].append(self._counted(function.get("arguments")))

    def _counted(self, value: Any) -> str:
        text = whole(value) if isinstance(value, str) else ""
        self._characters += len(text)
        if self._characters > MOST_CHARACTERS:
            raise too_long()
        return text

    @property
    def counts(self) -> Counts:
        """What it has cost so far; estimated where the server did not say."""
        if not self._usage:
            return Counts(fresh=self._guess if self._characters else 0, output=self._characters // 4)
        prompt, output = _number(self._usage.get("prompt_tokens")), _number(self._usage.get("completion_tokens"))
        details = as_table(self._usage.get("prompt_tokens_details"))
        read = min(prompt, _number(details.get("cached_tokens")))
        return Counts(fresh=prompt - read, read=read, output=output)

    def turn(self) -> Turn:
        """The whole. Raises Failure where the stream ended before its end."""
        if not self._stop:
            raise rubbish(self._target, "the answer ended before its end" if self._characters else "no answer in it")
        calls = tuple(_call(self._calls[index], place) for place, index in enumerate(sorted(self._calls)))
        refusal = "".join(self._refusal)
        stop = "refusal" if refusal else _STOPS.get(self._stop, self._stop)
        if calls and stop == "end":
            stop = "tool"  # some servers end an answer with calls by `stop`
        counts = self.counts
        return Turn("".join(self._text) or refusal, calls, stop, counts, None, self._target.label)


def _number(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _call(call: dict[str, Any], place: int) -> Call:
    arguments, bad = arguments_of("".join(call["arguments"]))
    return Call(clean_id(call["id"], place), call["name"], arguments, bad)
