"""The Anthropic Messages API through its SDK: streamed, with marks for the prompt cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lumen_tui.model.config import ModelsConfig
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.conversation.history import AssistantMessage, Entry, Prompt, UserMessage
from lumen_tui.providers.vendors.anthropic_stream import MessageAssembler, events_of
from lumen_tui.providers.vendors.endpoints import Target
from lumen_tui.providers.vendors.sdk_client import SdkClient, connecting
from lumen_tui.providers.vendors.wire import timeouts

_MAX_OUTPUT = 16_000  # tokens of one answer, thinking included
_MARK = {"cache_control": {"type": "ephemeral"}}


class AnthropicClient(SdkClient):
    """One model behind the Messages API."""

    def __init__(
        self, target: Target, config: ModelsConfig, environ: Mapping[str, str], now: Callable[[], float]
    ) -> None:
        super().__init__(target, config, environ, now)
        self.max_output = target.endpoint.max_output or _MAX_OUTPUT
        self._token = target.endpoint.token(environ)
        self._key = "" if self._token and not environ.get(target.endpoint.key_env) else target.endpoint.key(environ)

    def count(self, prompt: Prompt) -> int | None:
        """Return the tokens of a request as the server counts them; None where it does not."""
        try:
            return int(self._connected().messages.count_tokens(**self._request(prompt)).input_tokens)
        except Exception:  # noqa: BLE001 - the edge to a vendor's code: without a count the estimate stands
            return None

    def _connect(self) -> Any:
        try:
            import anthropic
        except ImportError as error:
            raise ProviderError(f"the anthropic package cannot be used ({error}): install lumen-tui anew") from error
        with connecting():
            return anthropic.Anthropic(
                api_key=self._key or (None if self._token else "none"),
                auth_token=None if self._key else self._token or None,  # the SDK takes one of the two only
                base_url=self.target.endpoint.base_url or None,
                max_retries=0,
                timeout=anthropic.Timeout(**timeouts(self._config, self.target)),
                http_client=anthropic.DefaultHttpxClient(event_hooks=self._departure.hooks),
            )

    def _assembler(self, estimate: int) -> MessageAssembler:
        return MessageAssembler(self.target)

    def _open(self, sdk: Any, prompt: Prompt, most: int) -> Any:
        return sdk.messages.create(**self._request(prompt), max_tokens=most or self.max_output, stream=True)

    def _events(self, stream: Any) -> Iterable[dict[str, Any]]:
        return events_of(stream)

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        messages = [self._message(entry) for entry in prompt.entries]
        request: dict[str, Any] = {"model": self.target.model, "messages": marked(messages)}
        if prompt.system:
            request["system"] = [{"type": "text", "text": prompt.system, **_MARK}]
        tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in prompt.tools
        ]
        if tools:
            request["tools"] = [*tools[:-1], {**tools[-1], **_MARK}]
        return request

    def _message(self, entry: Entry) -> dict[str, Any]:
        if isinstance(entry, UserMessage):
            return {"role": "user", "content": [{"type": "text", "text": entry.text}]}
        if isinstance(entry, AssistantMessage):
            return {"role": "assistant", "content": self._blocks(entry)}
        blocks = [
            {
                "type": "tool_result",
                "tool_use_id": result.call_id,
                "content": result.text if result.text.strip() else "(nothing)",
                "is_error": not result.ok,
            }
            for result in entry.results
        ]
        return {"role": "user", "content": blocks}

    def _blocks(self, turn: AssistantMessage) -> list[dict[str, Any]]:
        """Return the model's own blocks where it wrote them; built again where another model did, or they were cut."""
        if turn.native and turn.label == self.target.label:
            native: list[dict[str, Any]] = turn.native
            return native
        blocks: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text.strip() else []
        for call in turn.calls:
            blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
        return blocks


def marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark the last two user messages for the cache: one to write at, one to read from the call before."""
    remaining = 2
    for place in range(len(messages) - 1, -1, -1):
        if remaining and messages[place]["role"] == "user":
            *before, last = messages[place]["content"]
            messages[place] = {"role": "user", "content": [*before, {**last, **_MARK}]}
            remaining -= 1
    return messages
