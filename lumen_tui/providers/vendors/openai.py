"""Servers that speak the OpenAI chat completions API (OpenAI, Groq, Ollama, vLLM …), through the openai package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from lumen_tui.model.modelsconfig import ModelsConfig
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.conversation.context_overflow import is_context_overflow
from lumen_tui.providers.conversation.history import (
    AssistantMessage,
    Entry,
    ModelCall,
    Prompt,
    ResultMessage,
    UserMessage,
)
from lumen_tui.providers.errors import map_error, refusal_text
from lumen_tui.providers.vendors.endpoints import Target
from lumen_tui.providers.vendors.openai_stream import CompletionAssembler
from lumen_tui.providers.vendors.request_departure import RequestDeparture
from lumen_tui.providers.vendors.wire import Stream, connecting, once_begun, patience, timeouts

MISSING = 'the provider needs the openai package: pip install "lumen-tui[openai]"'
_UNKNOWN = re.compile(r"unsupported|not supported|unrecognized|unknown|not permitted|extra_forbidden|unexpected")


class OpenAIClient:
    """One model behind a chat completions API."""

    def __init__(
        self, target: Target, config: ModelsConfig, environ: Mapping[str, str], now: Callable[[], float]
    ) -> None:  # fmt: skip
        self.target = target
        self.max_output = target.endpoint.max_output
        self._config, self._now = config, now
        self._key = target.endpoint.key(environ)
        self._made: Any = None
        self._leaving = RequestDeparture()
        # OpenAI's own models refuse the older name, other servers may not know the newer one
        self._limit = "max_completion_tokens" if target.endpoint.name == "openai" else "max_tokens"
        self._counts: dict[str, Any] = {"stream_options": {"include_usage": True}}
        self._learnt: set[str] = set()

    def ask(self, prompt: Prompt, most: int, sent: Callable[[], None]) -> Stream:
        """Make one call. Raises ModelCallError, and ProviderError where the package is missing."""
        client, guess = self._client(), self.size(prompt) * 2 // 7
        answer = CompletionAssembler(self.target, guess)
        self._leaving.expect(sent)
        try:
            with self._open(client, prompt, most) as stream:
                self._leaving.now()
                # some begin with the head of an answer and think then
                once_begun(stream.response, max(self._config.silence_seconds, patience(self._config, self.target)))
                for chunk in stream:
                    yield answer.take(chunk.to_dict(warnings=False) if hasattr(chunk, "to_dict") else {})
            return answer.turn()
        except Exception as error:  # the edge to a vendor's code and to what a server may send
            self._leaving.check()
            raise map_error(error, self.target, answer.counts, self._now(), guess) from error

    def _open(self, client: Any, prompt: Prompt, most: int) -> Any:
        """The stream of an answer. What a server says it does not know is left out or renamed from then on."""
        while True:
            try:
                return client.chat.completions.create(**self._request(prompt, most), **self._counts, stream=True)
            except Exception as error:  # the edge to a vendor's code; all that is not learnt from goes on up
                if not self._learns(refusal_text(error)):
                    raise

    def _learns(self, words: str) -> bool:
        """Whether a refusal names a part of the request that can be changed. Each is changed once."""
        if not _UNKNOWN.search(words) or is_context_overflow(words):
            return False
        open_names = [name for name in ("stream_options", self._limit) if name in words and name not in self._learnt]
        name = open_names[0] if open_names else ""
        self._learnt.add(name)
        if name == "stream_options":
            self._counts = {}
        elif name:
            self._limit = "max_tokens" if name == "max_completion_tokens" else "max_completion_tokens"
            self._learnt.add(self._limit)
        return bool(name)

    def size(self, prompt: Prompt) -> int:
        """The bytes of a request, about."""
        return len(json.dumps(self._request(prompt), ensure_ascii=False).encode("utf-8", "replace"))

    def count(self, prompt: Prompt) -> int | None:
        """This API counts no tokens."""
        return None

    def close(self) -> None:
        if self._made is not None:
            self._made.close()

    def _client(self) -> Any:
        if self._made is None:
            self._made = self._make()
        return self._made

    def _make(self) -> Any:
        try:
            import openai
        except ImportError as error:
            raise ProviderError(MISSING) from error
        with connecting():
            return openai.OpenAI(
                api_key=self._key or "none", base_url=self.target.endpoint.base_url, max_retries=0,
                timeout=openai.Timeout(**timeouts(self._config, self.target)),
                http_client=openai.DefaultHttpxClient(event_hooks=self._leaving.hooks),
            )  # fmt: skip

    def _request(self, prompt: Prompt, most: int = 0) -> dict[str, Any]:
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages = [message for entry in prompt.entries for message in _messages(entry, self.target.label)]
        request: dict[str, Any] = {"model": self.target.model, "messages": [*system, *messages]}
        if most := most or self.max_output:
            request[self._limit] = most
        if prompt.tools:
            request["tools"] = [_tool(tool) for tool in prompt.tools]
        return request


def _tool(tool: Any) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _messages(entry: Entry, label: str) -> list[dict[str, Any]]:
    if isinstance(entry, UserMessage):
        return [{"role": "user", "content": entry.text}]
    if isinstance(entry, AssistantMessage):
        return [_said(entry, label)]
    return [_result(result) for result in entry.results]


def _result(result: ResultMessage) -> dict[str, Any]:
    text = result.text if result.ok else f"Error: {result.text}"  # this API has no mark for it
    return {"role": "tool", "tool_call_id": result.call_id, "content": text or "(nothing)"}


def _said(turn: AssistantMessage, label: str) -> dict[str, Any]:
    """An answer as it goes back, with its thinking where the same server sent some: DeepSeek and others want it."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    calls = [_call(call, own=turn.label == label) for call in turn.calls]
    if calls and turn.reasoning is not None and turn.label == label:
        message["reasoning_content"] = turn.reasoning
    return message | ({"tool_calls": calls} if calls else {})


def _call(call: ModelCall, *, own: bool) -> dict[str, Any]:
    """A call as it goes back; `own` says that the same server made it."""
    function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    told = {"id": call.id, "type": "function", "function": function}
    return told | ({"extra_content": call.extra} if own and call.extra else {})
