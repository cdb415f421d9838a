"""Servers that speak the OpenAI chat completions API (OpenAI, Groq, Ollama, vLLM …), through the openai package."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lumen_tui.model import extras
from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.media import PDF
from lumen_tui.providers.base import JsonObject, ProviderError
from lumen_tui.providers.conversation.attachments import Load, attachments
from lumen_tui.providers.conversation.history import (
    AssistantMessage,
    Entry,
    ModelCall,
    Prompt,
    ResultMessage,
    TokenCounts,
    UserMessage,
    clean_json,
    without_surrogates,
)
from lumen_tui.providers.errors import is_context_overflow, is_unknown_part, refusal_text, unusable_answer
from lumen_tui.providers.vendors.anthropic import arguments_of, as_table, clean_id, clean_name
from lumen_tui.providers.vendors.endpoints import Target
from lumen_tui.providers.vendors.sdk_client import MAX_CHARACTERS, SdkClient, connecting, patience, timeouts, too_long

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
        self._calls: list[JsonObject] = []
        self._usage: JsonObject = {}
        self._stop = ""
        self._characters = 0

    def take(self, chunk: JsonObject) -> str:
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

    def _take_reasoning(self, delta: JsonObject) -> None:
        """Take thinking from either of its fields. Text from the first has to go back, even empty (DeepSeek, Kimi)."""
        if isinstance(thought := delta.get("reasoning_content"), str):
            self._reasoning = [] if self._reasoning is None else self._reasoning
            self._reasoning.append(self._counted(thought))
        else:
            self._counted(delta.get("reasoning"))

    def _take_call(self, part: JsonObject) -> None:
        function = as_table(part.get("function"))
        written = self._counted(function.get("arguments"))
        call = self._call_of(part, self._counted(function.get("name")), written)
        call["id"] = call["id"] or str(part.get("id") or "")
        call["arguments"].append(written)
        call["extra"] = as_table(part.get("extra_content")) or call["extra"]

    def _call_of(self, part: JsonObject, name: str, written: str) -> JsonObject:
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

    def _counted(self, value: object) -> str:
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


def _is_another(call: JsonObject, call_id: str, written: str) -> bool:
    """Return whether a part with a name, of the same index, begins another call than this one."""
    if not call["name"]:
        return False
    if call_id and call["id"]:
        return bool(call_id != call["id"])
    before = "".join(call["arguments"])
    return call["index"] is None or bool(before and written and not arguments_of(before)[1])


def _number(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _call(call: JsonObject, place: int) -> ModelCall:
    arguments, bad = arguments_of("".join(call["arguments"]))
    return ModelCall(clean_id(call["id"], place), clean_name(call["name"]), arguments, bad, clean_json(call["extra"]))


MISSING = extras.missing("this provider", "openai", "openai")


class OpenAIClient(SdkClient):
    """One model behind a chat completions API."""

    def __init__(
        self, target: Target, config: ModelsConfig, environ: Mapping[str, str], now: Callable[[], float]
    ) -> None:
        super().__init__(target, config, environ, now)
        self._key = target.endpoint.key(environ)
        # OpenAI's own models refuse the older name, other servers may not know the newer one
        self._limit_name = "max_completion_tokens" if target.endpoint.name == "openai" else "max_tokens"
        self._usage_option: JsonObject = {"stream_options": {"include_usage": True}}
        self._adapted: set[str] = set()

    def count(self, prompt: Prompt) -> int | None:
        """Return None: this API counts no tokens."""
        return None

    def _connect(self) -> Any:
        try:
            import openai
        except ImportError as error:
            raise ProviderError(MISSING) from error
        with connecting():
            return openai.OpenAI(
                api_key=self._key or "none",
                base_url=self.target.endpoint.base_url,
                max_retries=0,
                timeout=openai.Timeout(**timeouts(self._config, self.target)),
                http_client=openai.DefaultHttpxClient(event_hooks=self._departure.hooks),
            )

    def _assembler(self, estimate: int) -> CompletionAssembler:
        return CompletionAssembler(self.target, estimate)

    def _silence_seconds(self) -> float:
        """Return as long as for the beginning of an answer: some servers send its head and think then."""
        return max(self._config.silence_seconds, patience(self._config, self.target))

    def _open(self, sdk: Any, prompt: Prompt, most: int) -> Any:
        """Return the stream of an answer. What a server says it does not know is left out or renamed from then on."""
        while True:
            try:
                return sdk.chat.completions.create(**self._request(prompt, most), **self._usage_option, stream=True)
            except Exception as error:  # the edge to a vendor's code; what the request cannot be adapted to goes on up
                if not self._adapt(refusal_text(error)):
                    raise

    def _adapt(self, refusal: str) -> bool:
        """Change the part of the request that a refusal names, each part once. Return whether there was one."""
        if not is_unknown_part(refusal) or is_context_overflow(refusal):
            return False
        names = ("stream_options", "reasoning_effort", self._limit_name)
        parts = [part for part in names if part in refusal and part not in self._adapted]
        if not parts:
            return False
        self._adapted.add(parts[0])
        if parts[0] == "stream_options":
            self._usage_option = {}
        elif parts[0] != "reasoning_effort":
            other = "max_tokens" if parts[0] == "max_completion_tokens" else "max_completion_tokens"
            self._limit_name = other
            self._adapted.add(other)
        return True

    def _events(self, stream: Any) -> Iterable[JsonObject]:
        for chunk in stream:
            yield chunk.to_dict(warnings=False) if hasattr(chunk, "to_dict") else {}

    def _request(self, prompt: Prompt, most: int = 0) -> JsonObject:
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages = [
            message for entry in self._fitted(prompt) for message in _messages(entry, self.target.label, prompt.load)
        ]
        request: JsonObject = {"model": self.target.model, "messages": [*system, *_alternating(messages)]}
        if most := most or self.max_output:
            request[self._limit_name] = most
        if prompt.tuning.effort and not self.target.endpoint.own and "reasoning_effort" not in self._adapted:
            request["reasoning_effort"] = prompt.tuning.effort
        if prompt.tools:
            request["tools"] = [_tool(tool) for tool in prompt.tools]
        return request


def _tool(tool: Any) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _alternating(messages: list[JsonObject]) -> list[JsonObject]:
    """Return the messages with those of the user that follow each other made one: some models' templates want that."""
    whole: list[JsonObject] = []
    for message in messages:
        if whole and message["role"] == whole[-1]["role"] == "user":
            whole[-1] = {"role": "user", "content": _both(whole[-1]["content"], message["content"])}
        else:
            whole.append(message)
    return whole


def _both(first: str | list[JsonObject], second: str | list[JsonObject]) -> str | list[JsonObject]:
    """Return two contents as one: a text, or parts where one of them has parts."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    both = [[{"type": "text", "text": part}] if isinstance(part, str) else part for part in (first, second)]
    return [*both[0], *both[1]]


def _messages(entry: Entry, label: str, load: Load) -> list[JsonObject]:
    if isinstance(entry, UserMessage):
        return [{"role": "user", "content": entry.text}]
    if isinstance(entry, AssistantMessage):
        return [_assistant_message(entry, label)]
    messages, parts = [], list[JsonObject]()
    for result in entry.results:
        text, attached = attachments(result, load)
        messages.append(_tool_message(result, text))
        parts += [_part(*attachment) for attachment in attached]
    return [*messages, {"role": "user", "content": parts}] if parts else messages


def _part(kind: str, of: str, data: str) -> JsonObject:
    """Return an image or a PDF as a part of a user's message: results of tools are text alone in this API."""
    url = f"data:{of};base64,{data}"
    if kind == PDF:
        return {"type": "file", "file": {"filename": "file.pdf", "file_data": url}}
    return {"type": "image_url", "image_url": {"url": url}}


def _tool_message(result: ResultMessage, text: str) -> JsonObject:
    text = text if result.ok else f"Error: {text}"  # this API has no mark for it
    return {"role": "tool", "tool_call_id": result.call_id, "content": text or "(nothing)"}


def _assistant_message(turn: AssistantMessage, label: str) -> JsonObject:
    """An answer as it goes back, with its thinking where the same server sent some: DeepSeek and others want it."""
    message: JsonObject = {"role": "assistant", "content": turn.text or None}
    calls = [_tool_call(call, own=turn.label == label) for call in turn.calls]
    if calls and turn.reasoning is not None and turn.label == label:
        message["reasoning_content"] = turn.reasoning
    return message | ({"tool_calls": calls} if calls else {})


def _tool_call(call: ModelCall, *, own: bool) -> JsonObject:
    """Return a call as it goes back; `own` says that the same server made it."""
    function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    message = {"id": call.id, "type": "function", "function": function}
    return message | ({"extra_content": call.extra} if own and call.extra else {})
