"""Servers that speak the OpenAI chat completions API (OpenAI, Groq, Ollama, vLLM …), through the openai package."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from lumen_tui.model.modelsconfig import ModelsConfig
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.endpoints import Target
from lumen_tui.providers.failing import failure
from lumen_tui.providers.history import Asked, Entry, Prompt, Result, Turn
from lumen_tui.providers.openai_stream import Completion
from lumen_tui.providers.wire import Stream, once_begun, timeouts

MISSING = 'the provider needs the openai package: pip install "lumen-tui[openai]"'


class Chat:
    """One model behind a chat completions API."""

    def __init__(
        self, target: Target, config: ModelsConfig, environ: Mapping[str, str], now: Callable[[], float]
    ) -> None:  # fmt: skip
        self.target = target
        self.max_output = target.endpoint.max_output
        self._config, self._now = config, now
        self._key = target.endpoint.key(environ)
        self._made: Any = None

    def ask(self, prompt: Prompt, most: int = 0) -> Stream:
        """Make one call. Raises Failure, and ProviderError where the package is missing."""
        client, guess = self._client(), self.size(prompt) * 2 // 7
        answer = Completion(self.target, guess)
        try:
            stream = client.chat.completions.create(
                **self._request(prompt, most), stream=True, stream_options={"include_usage": True}
            )
            with stream:
                once_begun(stream.response, self._config.silence_seconds)
                for chunk in stream:
                    yield answer.take(chunk.to_dict() if hasattr(chunk, "to_dict") else {})
            return answer.turn()
        except Exception as error:  # the edge to a vendor's code and to what a server may send
            raise failure(error, self.target, answer.counts, self._now(), guess) from error

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
        return openai.OpenAI(
            api_key=self._key or "none", base_url=self.target.endpoint.base_url, max_retries=0,
            timeout=openai.Timeout(**timeouts(self._config, self.target)),
        )  # fmt: skip

    def _request(self, prompt: Prompt, most: int = 0) -> dict[str, Any]:
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages = [message for entry in prompt.entries for message in _messages(entry)]
        request: dict[str, Any] = {"model": self.target.model, "messages": [*system, *messages]}
        if most := most or self.max_output:
            # OpenAI's own models refuse the older name, other servers may not know the newer one
            name = "max_completion_tokens" if self.target.endpoint.name == "openai" else "max_tokens"
            request[name] = most
        if prompt.tools:
            request["tools"] = [_tool(tool) for tool in prompt.tools]
        return request


def _tool(tool: Any) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _messages(entry: Entry) -> list[dict[str, Any]]:
    if isinstance(entry, Asked):
        return [{"role": "user", "content": entry.text}]
    if isinstance(entry, Turn):
        return [_said(entry)]
    return [_result(result) for result in entry.results]


def _result(result: Result) -> dict[str, Any]:
    text = result.text if result.ok else f"Error: {result.text}"  # this API has no mark for it
    return {"role": "tool", "tool_call_id": result.call_id, "content": text}


def _said(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    calls = [
        {"id": call.id, "type": "function",
         "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}}
        for call in turn.calls
    ]  # fmt: skip
    return message | ({"tool_calls": calls} if calls else {})
