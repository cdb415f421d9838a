"""Servers that speak the OpenAI chat completions API (OpenAI, Groq, Ollama, vLLM …), through the openai package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lumen_tui.model.config import ModelsConfig
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
from lumen_tui.providers.errors import refusal_text
from lumen_tui.providers.vendors.endpoints import Target
from lumen_tui.providers.vendors.openai_stream import CompletionAssembler
from lumen_tui.providers.vendors.sdk_client import SdkClient, connecting
from lumen_tui.providers.vendors.wire import patience, timeouts

MISSING = 'the provider needs the openai package: pip install "lumen-tui[openai]"'
_UNKNOWN = re.compile(r"unsupported|not supported|unrecognized|unknown|not permitted|extra_forbidden|unexpected")


class OpenAIClient(SdkClient):
    """One model behind a chat completions API."""

    def __init__(
        self, target: Target, config: ModelsConfig, environ: Mapping[str, str], now: Callable[[], float]
    ) -> None:
        super().__init__(target, config, environ, now)
        self._key = target.endpoint.key(environ)
        # OpenAI's own models refuse the older name, other servers may not know the newer one
        self._limit_name = "max_completion_tokens" if target.endpoint.name == "openai" else "max_tokens"
        self._usage_option: dict[str, Any] = {"stream_options": {"include_usage": True}}
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
        if not _UNKNOWN.search(refusal) or is_context_overflow(refusal):
            return False
        parts = [part for part in ("stream_options", self._limit_name) if part in refusal and part not in self._adapted]
        if not parts:
            return False
        self._adapted.add(parts[0])
        if parts[0] == "stream_options":
            self._usage_option = {}
        else:
            other = "max_tokens" if parts[0] == "max_completion_tokens" else "max_completion_tokens"
            self._limit_name = other
            self._adapted.add(other)
        return True

    def _events(self, stream: Any) -> Iterable[dict[str, Any]]:
        for chunk in stream:
            yield chunk.to_dict(warnings=False) if hasattr(chunk, "to_dict") else {}

    def _request(self, prompt: Prompt, most: int = 0) -> dict[str, Any]:
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages = [message for entry in prompt.entries for message in _messages(entry, self.target.label)]
        request: dict[str, Any] = {"model": self.target.model, "messages": [*system, *messages]}
        if most := most or self.max_output:
            request[self._limit_name] = most
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
        return [_assistant_message(entry, label)]
    return [_tool_message(result) for result in entry.results]


def _tool_message(result: ResultMessage) -> dict[str, Any]:
    text = result.text if result.ok else f"Error: {result.text}"  # this API has no mark for it
    return {"role": "tool", "tool_call_id": result.call_id, "content": text or "(nothing)"}


def _assistant_message(turn: AssistantMessage, label: str) -> dict[str, Any]:
    """An answer as it goes back, with its thinking where the same server sent some: DeepSeek and others want it."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    calls = [_tool_call(call, own=turn.label == label) for call in turn.calls]
    if calls and turn.reasoning is not None and turn.label == label:
        message["reasoning_content"] = turn.reasoning
    return message | ({"tool_calls": calls} if calls else {})


def _tool_call(call: ModelCall, *, own: bool) -> dict[str, Any]:
    """Return a call as it goes back; `own` says that the same server made it."""
    function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    message = {"id": call.id, "type": "function", "function": function}
    return message | ({"extra_content": call.extra} if own and call.extra else {})
