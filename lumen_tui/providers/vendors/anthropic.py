"""The Anthropic Messages API through its SDK: requests with marks for the prompt cache, and streams put together."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.media import PDF
from lumen_tui.model.text import one_line
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
from lumen_tui.providers.errors import is_unknown_part, refusal_text, unusable_answer
from lumen_tui.providers.vendors.endpoints import Target
from lumen_tui.providers.vendors.sdk_client import MAX_CHARACTERS, SdkClient, connecting, timeouts, too_long

_STOPS = {
    "end_turn": "end", "stop_sequence": "end", "tool_use": "tool", "max_tokens": "length", "pause_turn": "pause",
    "refusal": "refusal", "model_context_window_exceeded": "window",
}  # fmt: skip
_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def as_table(value: object) -> JsonObject:
    """`value` where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


class _StreamError(Exception):
    """An `error` event, in the form in which SDKs tell errors."""

    def __init__(self, body: JsonObject) -> None:
        super().__init__("an error without words")
        self.body = body


def events_of(stream: Any) -> Iterator[JsonObject]:
    """Yield the events of an answer as plain JSON, pings too: of a model that thinks unseen they are all that comes.

    The SDK leaves pings out where it takes the events apart itself; its older versions know no other way.
    """
    raw = getattr(type(stream), "raw_events", None)
    if raw is None:
        yield from (as_table(event.to_dict(warnings=False) if hasattr(event, "to_dict") else event) for event in stream)
        return
    for sent in raw(stream.response):
        event = as_table(json.loads(sent.data)) if sent.data else {}
        if sent.event == "error" or event.get("type") == "error":
            raise _StreamError(event)
        yield event


def clean_id(text: str, place: int) -> str:
    """Return the id of a call in the letters that every API takes back."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)[:60] or f"call_{place}"


def clean_name(text: str) -> str:
    """Return the name of a call in the same letters: with others it would be refused in every request from then on.

    What some servers leave of a model's own notation is no part of it: `functions.read_file<|channel|>commentary`.
    """
    bare = text.partition("<|")[0].removeprefix("functions.")
    return re.sub(r"[^A-Za-z0-9_-]", "_", bare)[:64] or "unnamed"


class MessageAssembler:
    """One answer on its way."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._blocks: dict[int, JsonObject] = {}
        self._parts: dict[int, list[str]] = {}
        self._usage: JsonObject = {}
        self._stop = self._stop_detail = ""
        self._ended = False
        self._characters = 0
        self._last_text_block = -1  # the block that spoke last

    def take(self, event: JsonObject) -> str:
        """Take one event and return the text that it adds. Raises ModelCallError."""
        kind = event.get("type")
        if kind == "message_start":
            self._usage |= _numbers(as_table(event.get("message")).get("usage"))
        elif kind == "content_block_start":
            self._start(event)
        elif kind == "content_block_delta":
            return self._delta(event)
        elif kind == "message_delta":
            self._usage |= _numbers(event.get("usage"))
            self._stopped(as_table(event.get("delta")))
        elif kind == "message_stop":
            self._ended = True
        return ""

    def _stopped(self, delta: JsonObject) -> None:
        self._stop = str(delta.get("stop_reason") or self._stop)
        details = as_table(delta.get("stop_details"))
        self._stop_detail = (
            one_line(str(details.get("explanation") or details.get("category") or ""), 300) or self._stop_detail
        )

    def _start(self, event: JsonObject) -> None:
        index, block = event.get("index"), as_table(event.get("content_block"))
        if isinstance(index, int):
            self._blocks[index] = dict(block)
            self._parts[index] = [str(block.get(name) or "") for name in ("text", "thinking") if block.get(name)]

    def _delta(self, event: JsonObject) -> str:
        index, delta = event.get("index"), as_table(event.get("delta"))
        if not isinstance(index, int) or index not in self._blocks:
            raise unusable_answer(self._target, "a part of a block that was not begun")
        if delta.get("type") == "signature_delta":
            self._blocks[index]["signature"] = delta.get("signature")
        part = without_surrogates(str(delta.get(_TEXTS.get(str(delta.get("type")), ""), "")))
        self._parts[index].append(part)
        self._characters += len(part)
        if self._characters > MAX_CHARACTERS:
            raise too_long()
        return self._separator(index) + part if part and delta.get("type") == "text_delta" else ""

    def _separator(self, index: int) -> str:
        """Return what separates two blocks of text, in the stream as in the whole."""
        before, self._last_text_block = self._last_text_block, index
        return "\n" if before not in (-1, index) else ""

    @property
    def counts(self) -> TokenCounts:
        """What it has cost so far; what was written is estimated where the server did not say."""
        usage = self._usage
        output = max(usage.get("output_tokens", 0), 0 if self._ended else self._characters // 4)
        written, read = usage.get("cache_creation_input_tokens", 0), usage.get("cache_read_input_tokens", 0)
        hour = usage.get("ephemeral_1h_input_tokens", 0)
        return TokenCounts(usage.get("input_tokens", 0), written, read, output, hour)

    def turn(self) -> AssistantMessage:
        """Return the whole answer. Raises ModelCallError where the stream ended before its end."""
        if not self._stop:
            raise unusable_answer(
                self._target, "the answer ended before its end" if self._blocks else "no answer in it"
            )
        blocks = [self._finished(index) for index in sorted(self._blocks)]
        calls = tuple(_call(block, place) for place, block in enumerate(blocks) if block.get("type") == "tool_use")
        text = "\n".join(block["text"] for block in blocks if block.get("type") == "text" and block["text"])
        stop = _STOPS.get(self._stop, self._stop)
        native = [_sent_back(block, place) for place, block in enumerate(blocks) if _is_kept(block, blocks[place:])]
        return AssistantMessage(
            text, calls, stop, self.counts, native, self._target.label, stop_detail=self._stop_detail
        )

    def _finished(self, index: int) -> JsonObject:
        block, written = self._blocks[index], "".join(self._parts[index])
        kind = block.get("type")
        if kind in ("text", "thinking"):
            return block | {kind: written}
        return block | {"written": written} if kind == "tool_use" else block


def _numbers(usage: object) -> dict[str, int]:
    fields = as_table(usage)
    counts = {**as_table(fields.get("cache_creation")), **fields}
    return {name: count for name, count in counts.items() if isinstance(count, int) and count >= 0}


def _call(block: JsonObject, place: int) -> ModelCall:
    arguments, bad = arguments_of(block["written"]) if block["written"] else (as_table(block.get("input")), "")
    return ModelCall(clean_id(str(block.get("id")), place), clean_name(str(block.get("name", ""))), arguments, bad)


def arguments_of(text: str) -> tuple[JsonObject, str]:
    """Return the arguments of a call, and the text itself where it is no JSON object."""
    try:
        value = json.loads(text or "{}", parse_constant=_number, parse_float=_number)
    except (ValueError, RecursionError):
        return {}, text or "(nothing)"
    return (clean_json(value), "") if isinstance(value, dict) else ({}, text)


def _number(text: str) -> float:
    """Return a number that can be sent back: JSON has neither NaN nor Infinity, though its readers take them."""
    if math.isfinite(number := float(text)):
        return number
    raise ValueError(f"{text} is no number in JSON")


def _is_kept(block: JsonObject, onwards: list[JsonObject]) -> bool:
    """Whether a block goes back. The API refuses texts of nothing but spaces, though models write them; an empty one
    never goes back, another only where thinking comes after it, which is signed for all that stood before."""
    if block.get("type") != "text" or block["text"].strip():
        return True
    return bool(block["text"]) and any("thinking" in str(later.get("type")) for later in onwards)


def _sent_back(block: JsonObject, place: int) -> JsonObject:
    """Return a block as the API takes it back."""
    if block.get("type") != "tool_use":
        return {name: value for name, value in block.items() if value is not None}
    call = _call(block, place)
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


_MAX_OUTPUT = 16_000  # tokens of one answer, thinking included
_MARK = {"cache_control": {"type": "ephemeral"}}


_PARTS = {"output_config": "effort", "effort": "effort", "ttl": "ttl", "thinking": "thinking"}


def _refused_part(refusal: str) -> str:
    """Return which part of the tuning a server does not know; empty where the refusal is about something else."""
    if not is_unknown_part(refusal) or "signature" in refusal:
        return ""
    return next((part for name, part in _PARTS.items() if name in refusal), "")


class AnthropicClient(SdkClient):
    """One model behind the Messages API."""

    def __init__(
        self, target: Target, config: ModelsConfig, environ: Mapping[str, str], now: Callable[[], float]
    ) -> None:
        super().__init__(target, config, environ, now)
        self.max_output = target.endpoint.max_output or _MAX_OUTPUT
        self._left_out: set[str] = set()  # parts of a request that this server refused
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
            raise ProviderError(f"the anthropic package cannot be used ({error}): reinstall lumen-tui") from error
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
        while True:
            try:
                return sdk.messages.create(**self._request(prompt), max_tokens=most or self.max_output, stream=True)
            except Exception as error:  # the edge to a vendor's code; what is not about these parts goes on up
                part = _refused_part(refusal_text(error))
                if not part or part in self._left_out:
                    raise
                self._left_out.add(part)

    def _events(self, stream: Any) -> Iterable[JsonObject]:
        return events_of(stream)

    def _request(self, prompt: Prompt) -> JsonObject:
        mark = self._mark(prompt)
        messages = marked(joined([self._message(entry, prompt.load) for entry in self._fitted(prompt)]), mark)
        request: JsonObject = {"model": self.target.model, "messages": messages}
        if prompt.system:
            request["system"] = [{"type": "text", "text": prompt.system, **mark}]
        tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in prompt.tools
        ]
        if tools:
            request["tools"] = [*tools[:-1], {**tools[-1], **mark}]
        if prompt.tuning.thinking == "adaptive" and "thinking" not in self._left_out:
            request["thinking"] = {"type": "adaptive"}
        if prompt.tuning.effort and "effort" not in self._left_out:
            request["output_config"] = {"effort": prompt.tuning.effort}
        return request

    def _mark(self, prompt: Prompt) -> JsonObject:
        """Return the mark of what is the same in every call of a role: tools and system prompt."""
        if not prompt.tuning.cache or "ttl" in self._left_out:
            return _MARK
        return {"cache_control": {"type": "ephemeral", "ttl": prompt.tuning.cache}}

    def _message(self, entry: Entry, load: Load) -> JsonObject:
        if isinstance(entry, UserMessage):
            parts = (entry.text[: entry.standing], entry.text[entry.standing :])
            texts = parts if all(part.strip() for part in parts) else (entry.text,)
            return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}
        if isinstance(entry, AssistantMessage):
            return {"role": "assistant", "content": self._blocks(entry)}
        blocks = [
            {
                "type": "tool_result",
                "tool_use_id": result.call_id,
                "content": _content(result, load),
                "is_error": not result.ok,
            }
            for result in entry.results
        ]
        return {"role": "user", "content": blocks}

    def _blocks(self, turn: AssistantMessage) -> list[JsonObject]:
        """Return the model's own blocks where it wrote them; built again where another model did, or they were cut."""
        if turn.native and turn.label == self.target.label:
            native: list[JsonObject] = turn.native
            return native
        blocks: list[JsonObject] = [{"type": "text", "text": turn.text}] if turn.text.strip() else []
        for call in turn.calls:
            blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
        return blocks


def _content(result: ResultMessage, load: Load) -> str | list[JsonObject]:
    """Return what a call gave: its text, and behind that its images and PDF files."""
    text, attached = attachments(result, load)
    if not attached:
        return text if text.strip() else "(nothing)"
    blocks = [
        {"type": "document" if kind == PDF else "image", "source": {"type": "base64", "media_type": of, "data": data}}
        for kind, of, data in attached
    ]
    return [{"type": "text", "text": text}, *blocks]


def joined(messages: list[JsonObject]) -> list[JsonObject]:
    """Return the messages with those of the user that follow each other made one: results, then what was said."""
    whole: list[JsonObject] = []
    for message in messages:
        if whole and message["role"] == whole[-1]["role"] == "user":
            whole[-1] = {"role": "user", "content": [*whole[-1]["content"], *message["content"]]}
        else:
            whole.append(message)
    return whole


def marked(messages: list[JsonObject], standing: JsonObject) -> list[JsonObject]:
    """Mark the last two user messages for the cache: one to write at, one to read from the call before.

    Where there is but one, it is marked at its end, and with `standing` where the part ends that other conversations of
    the role begin with: later on that part is read with what comes behind it.
    """
    if len(messages) == 1 and len(messages[0]["content"]) > 1:
        first, *following = messages[0]["content"]
        messages[0] = {"role": "user", "content": [{**first, **standing}, *following]}
    remaining = 2
    for place in range(len(messages) - 1, -1, -1):
        if remaining and messages[place]["role"] == "user":
            *before, last = messages[place]["content"]
            messages[place] = {"role": "user", "content": [*before, {**last, **_MARK}]}
            remaining -= 1
    return messages
