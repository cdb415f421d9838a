"""The Anthropic Messages API through its SDK: streamed, with marks for the prompt cache. Retries are ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from lumen_tui.model.modelsconfig import ModelsConfig
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.conversation.history import AssistantMessage, Entry, Prompt, UserMessage
from lumen_tui.providers.errors import map_error
from lumen_tui.providers.vendors.anthropic_stream import MessageAssembler, events_of
from lumen_tui.providers.vendors.endpoints import Target
from lumen_tui.providers.vendors.request_departure import RequestDeparture
from lumen_tui.providers.vendors.wire import Stream, connecting, once_begun, timeouts

_MAX_OUTPUT = 16_000  # tokens of one answer, thinking included
_MARK = {"cache_control": {"type": "ephemeral"}}


class AnthropicClient:
    """One model behind the Messages API."""

    def __init__(
        self, target: Target, config: ModelsConfig, environ: Mapping[str, str], now: Callable[[], float]
    ) -> None:  # fmt: skip
        self.target = target
        self.max_output = target.endpoint.max_output or _MAX_OUTPUT
        self._config, self._now = config, now
        self._token = target.endpoint.token(environ)
        self._key = "" if self._token and not environ.get(target.endpoint.key_env) else target.endpoint.key(environ)
        self._made: Any = None
        self._leaving = RequestDeparture()

    def ask(self, prompt: Prompt, most: int, sent: Callable[[], None]) -> Stream:
        """Make one call. Raises ModelCallError."""
        answer = MessageAssembler(self.target)
        client, guess = self._client(), self.size(prompt) * 2 // 7
        self._leaving.expect(sent)
        try:
            stream = client.messages.create(**self._request(prompt), max_tokens=most or self.max_output, stream=True)
            self._leaving.now()
            with stream:
                once_begun(stream.response, self._config.silence_seconds)
                for event in events_of(stream):
                    yield answer.take(event)
            return answer.turn()
        except Exception as error:  # the edge to a vendor's code and to what a server may send
            self._leaving.check()
            raise map_error(error, self.target, answer.counts, self._now(), guess) from error

    def size(self, prompt: Prompt) -> int:
        """The bytes of a request, about."""
        return len(json.dumps(self._request(prompt), ensure_ascii=False).encode("utf-8", "replace"))

    def count(self, prompt: Prompt) -> int | None:
        """The tokens of a request, counted by the server; None where it does not."""
        try:
            return int(self._client().messages.count_tokens(**self._request(prompt)).input_tokens)
        except Exception:  # noqa: BLE001 - the edge to a vendor's code: without a count the estimate stands
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
            import anthropic
        except ImportError as error:
            raise ProviderError(f"the anthropic package cannot be used ({error}): install lumen-tui anew") from error
        with connecting():
            return anthropic.Anthropic(
                api_key=self._key or (None if self._token else "none"),
                auth_token=None if self._key else self._token or None,  # the SDK takes one of the two only
                base_url=self.target.endpoint.base_url or None, max_retries=0,
                timeout=anthropic.Timeout(**timeouts(self._config, self.target)),
                http_client=anthropic.DefaultHttpxClient(event_hooks=self._leaving.hooks),
            )  # fmt: skip

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.target.model, "messages": marked([self._message(entry) for entry in prompt.entries]),
        }  # fmt: skip
        if prompt.system:
            request["system"] = [{"type": "text", "text": prompt.system, **_MARK}]
        tools = [{"name": t.name, "description": t.description, "input_schema": t.schema} for t in prompt.tools]
        if tools:
            request["tools"] = [*tools[:-1], {**tools[-1], **_MARK}]
        return request

    def _message(self, entry: Entry) -> dict[str, Any]:
        if isinstance(entry, UserMessage):
            return {"role": "user", "content": [{"type": "text", "text": entry.text}]}
        if isinstance(entry, AssistantMessage):
            return {"role": "assistant", "content": self._blocks(entry)}
        blocks = [
            {"type": "tool_result", "tool_use_id": result.call_id,
             "content": result.text if result.text.strip() else "(nothing)", "is_error": not result.ok}
            for result in entry.results
        ]  # fmt: skip
        return {"role": "user", "content": blocks}

    def _blocks(self, turn: AssistantMessage) -> list[dict[str, Any]]:
        """The model's own blocks where it wrote them; built anew where another model did, or they were cut."""
        if turn.native and turn.label == self.target.label:
            native: list[dict[str, Any]] = turn.native
            return native
        said = [{"type": "text", "text": turn.text}] if turn.text.strip() else []
        return said + [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in turn.calls]


def marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Marks for the cache on the last two messages of ours: one to write at, one to read from the call before."""
    left = 2
    for place in range(len(messages) - 1, -1, -1):
        if left and messages[place]["role"] == "user":
            *before, last = messages[place]["content"]
            messages[place] = {"role": "user", "content": [*before, {**last, **_MARK}]}
            left -= 1
    return messages
