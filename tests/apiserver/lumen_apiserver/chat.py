"""Answers in the form of the OpenAI chat completions API: whole, or as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lumen_apiserver.answers import KINDS, Answer
from lumen_apiserver.messages import pieces

_FINISH = {
    "end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length",
    "refusal": "content_filter",
}  # fmt: skip


def error_body(answer: Answer) -> dict[str, Any]:
    kind = answer.kind or KINDS.get(answer.status, "api_error")
    return {"error": {"message": answer.error, "type": kind, "param": None, "code": kind}}


def usage_of(usage: dict[str, int]) -> dict[str, Any]:
    """The counts in this API's words."""
    read = usage.get("cache_read_input_tokens", 0)
    prompt = usage["input_tokens"] + read + usage.get("cache_creation_input_tokens", 0)
    return {
        "prompt_tokens": prompt, "completion_tokens": usage["output_tokens"],
        "total_tokens": prompt + usage["output_tokens"], "prompt_tokens_details": {"cached_tokens": read},
    }  # fmt: skip


def _call(block: dict[str, Any], arguments: str | None = None) -> dict[str, Any]:
    if arguments is None:
        arguments = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
    return {"id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": arguments}}


def whole(answer: Answer, model: str, number: int, usage: dict[str, int]) -> dict[str, Any]:
    """The completion as one JSON object."""
    words = "".join(block["text"] for block in answer.content if block["type"] == "text")
    calls = [_call(block) for block in answer.content if block["type"] == "tool_use"]
    message: dict[str, Any] = {"role": "assistant", "content": words or None}
    if calls:
        message["tool_calls"] = calls
    finish = _FINISH.get(answer.stop_reason, answer.stop_reason)
    return {
        "id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1_700_000_000, "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": usage_of(usage),
    }  # fmt: skip


def _chunk(model: str, number: int, choices: list[dict[str, Any]], **more: Any) -> bytes:
    data = {
        "id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": model,
        "choices": choices, **more,
    }  # fmt: skip
    return f"data: {json.dumps(data)}\n\n".encode()


def events(
    answer: Answer, model: str, number: int, usage: dict[str, int], *, count: bool = True
) -> Iterator[bytes]:  # fmt: skip
    """The same completion as chunks; the counts come last where they were asked for."""

    def delta(content: dict[str, Any], finish: str | None = None) -> bytes:
        return _chunk(model, number, [{"index": 0, "delta": content, "finish_reason": finish}])

    yield delta({"role": "assistant", "content": ""})
    calls = 0
    for block in answer.content:
        if block["type"] == "text":
            yield from (delta({"content": part}) for part in pieces(block["text"], answer.piece))
        elif block["type"] == "thinking":
            yield from (delta({"reasoning_content": part}) for part in pieces(block["thinking"], answer.piece))
        elif answer.one_index:
            yield delta({"tool_calls": [{"index": 0, **_call(block)}]})
        elif block["type"] == "tool_use":
            yield from (delta({"tool_calls": [part]}) for part in _call_parts(block, calls, answer.piece))
            calls += 1
    yield delta({}, _FINISH.get(answer.stop_reason, answer.stop_reason))
    if count:
        yield _chunk(model, number, [], usage=usage_of(usage))
    yield b"data: [DONE]\n\n"


def _call_parts(block: dict[str, Any], index: int, size: int) -> Iterator[dict[str, Any]]:
    yield {"index": index, **_call(block, "")}
    arguments = _call(block)["function"]["arguments"]
    yield from ({"index": index, "function": {"arguments": part}} for part in pieces(arguments, size))


def broken() -> bytes:
    """The event by which a stream says that it cannot go on."""
    return b'data: {"error": {"message": "Overloaded", "type": "server_error", "code": 529}}\n\n'
