"""An answer of a chat completions API put together from its chunks, whatever they hold."""

from __future__ import annotations

from typing import Any

from lumen_tui.providers.conversation.history import (
    AssistantMessage,
    ModelCall,
    TokenCounts,
    clean_json,
    without_surrogates,
)
from lumen_tui.providers.errors import unusable_answer
from lumen_tui.providers.vendors.anthropic_stream import arguments_of, as_table, clean_id, clean_name
from lumen_tui.providers.vendors.endpoints import Target
from lumen_tui.providers.vendors.wire import MAX_CHARACTERS, too_long

_STOPS = {
    "stop": "end", "tool_calls": "tool", "function_call": "tool", "length": "length", "content_filter": "refusal",
    "eos": "end", "eos_token": "end", "stop_sequence": "end", "end_turn": "end", "tool_use": "tool",
    "max_tokens": "length",
}  # fmt: skip


class CompletionAssembler:
    """One answer on its way. `guess` is the tokens of the prompt, for servers that do not count."""

    def __init__(self, target: Target, guess: int) -> None:
        self._target, self._guess = target, guess
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] | None = None
        self._calls: list[dict[str, Any]] = []
        self._usage: dict[str, Any] = {}
        self._stop = ""
        self._characters = 0

    def take(self, chunk: dict[str, Any]) -> str:
        """Take one chunk and return the text that it adds. Raises ModelCallError."""
        self._usage = as_table(chunk.get("usage")) or self._usage
        choices = chunk.get("choices")
        choice = as_table(choices[0]) if isinstance(choices, list) and choices else {}
        self._stop = str(choice.get("finish_reason") or self._stop)
        delta = as_table(choice.get("delta"))
        self._refusal.append(self._counted(delta.get("refusal")))
        self._take_reasoning(delta)
        listed = delta.get("tool_calls")
        for part in listed if isinstance(listed, list) else []:
            self._take_call(as_table(part))
        text = self._counted(delta.get("content"))
        self._text.append(text)
        return text

    def _take_reasoning(self, delta: dict[str, Any]) -> None:
        """Take thinking from either of its fields. Text from the first has to go back, even empty (DeepSeek, Kimi)."""
        if isinstance(thought := delta.get("reasoning_content"), str):
            self._reasoning = [] if self._reasoning is None else self._reasoning
            self._reasoning.append(self._counted(thought))
        else:
            self._counted(delta.get("reasoning"))

    def _take_call(self, part: dict[str, Any]) -> None:
        function = as_table(part.get("function"))
        written = self._counted(function.get("arguments"))
        call = self._call_of(part, self._counted(function.get("name")), written)
        call["id"] = call["id"] or str(part.get("id") or "")
        call["arguments"].append(written)
        call["extra"] = as_table(part.get("extra_content")) or call["extra"]

    def _call_of(self, part: dict[str, Any], name: str, written: str) -> dict[str, Any]:
        """Return the call that a part belongs to: the last one of its index, unless the part begins another.

        Some servers give all calls of an answer the same index (Ollama), or none, or each part an id of its own (vLLM).
        """
        index = part.get("index") if isinstance(part.get("index"), int) else None
        same = [call for call in self._calls if call["index"] == index]
        if not same or (name and _is_another(same[-1], str(part.get("id") or ""), written)):
            same.append({"index": index, "id": "", "name": "", "arguments": [], "extra": {}})
            self._calls.append(same[-1])
        same[-1]["name"] = same[-1]["name"] or name
        return same[-1]

    def _counted(self, value: Any) -> str:
        text = without_surrogates(value) if isinstance(value, str) else ""
        self._characters += len(text)
        if self._characters > MAX_CHARACTERS:
            raise too_long()
        return text

    @property
    def counts(self) -> TokenCounts:
        """What it has cost so far; estimated where the server did not say, or says that it was nothing."""
        prompt = _number(self._usage.get("prompt_tokens")) or (self._guess if self._characters else 0)
        output = _number(self._usage.get("completion_tokens")) or self._characters // 4
        details = as_table(self._usage.get("prompt_tokens_details"))
        read = min(prompt, _number(details.get("cached_tokens")))
        return TokenCounts(fresh=prompt - read, read=read, output=output)

    def turn(self) -> AssistantMessage:
        """Return the whole answer. Raises ModelCallError where the stream ended before its end."""
        if not self._stop:
            raise unusable_answer(
                self._target, "the answer ended before its end" if self._characters else "no answer in it"
            )
        calls = tuple(_call(call, place) for place, call in enumerate(self._calls))
        refusal = "".join(self._refusal)
        stop = "refusal" if refusal else _STOPS.get(self._stop, self._stop)
        if calls and stop == "end":
            stop = "tool"  # some servers end an answer with calls by `stop`
        reasoning = None if self._reasoning is None else "".join(self._reasoning)
        text = "".join(self._text) or refusal
        return AssistantMessage(text, calls, stop, self.counts, None, self._target.label, reasoning)


def _is_another(call: dict[str, Any], call_id: str, written: str) -> bool:
    """Return whether a part with a name, of the same index, begins another call than this one."""
    if not call["name"]:
        return False
    if call_id and call["id"]:
        return bool(call_id != call["id"])
    before = "".join(call["arguments"])
    return call["index"] is None or bool(before and written and not arguments_of(before)[1])


def _number(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _call(call: dict[str, Any], place: int) -> ModelCall:
    arguments, bad = arguments_of("".join(call["arguments"]))
    return ModelCall(clean_id(call["id"], place), clean_name(call["name"]), arguments, bad, clean_json(call["extra"]))
