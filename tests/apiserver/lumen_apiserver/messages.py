"""Answers in the form of the Anthropic Messages API: whole, or as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lumen_apiserver.answers import KINDS, Answer


def pieces(text: str, size: int) -> list[str]:
    """`text` cut in parts; an empty text is one empty part."""
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def error_body(answer: Answer) -> dict[str, Any]:
    kind = answer.kind or KINDS.get(answer.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": answer.error}, "request_id": "req_local"}


def whole(answer: Answer, model: str, number: int, usage: dict[str, int]) -> dict[str, Any]:
    """The message as one JSON object."""
    return {
        "id": f"msg_{number:06d}", "type": "message", "role": "assistant", "model": model,
        "content": list(answer.content), "stop_reason": answer.stop_reason, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def _event(name: str, **data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


def events(answer: Answer, model: str, number: int, usage: dict[str, int]) -> Iterator[bytes]:
    """The same message as server-sent events."""
    start = whole(answer, model, number, usage) | {"content": [], "stop_reason": None}
    yield _event("message_start", message=start | {"usage": usage | {"output_tokens": 1}})
    for _ in range(answer.pings):
        yield _event("ping")
    for index, block in enumerate(answer.content):
        yield from _block(index, block, answer.piece)
    delta: dict[str, Any] = {"stop_reason": answer.stop_reason, "stop_sequence": None}
    if answer.why:
        delta["stop_details"] = {"type": "refusal", "category": None, "explanation": answer.why}
    yield _event("message_delta", delta=delta, usage={"output_tokens": usage["output_tokens"]})
    yield _event("message_stop")


_EMPTY: dict[str, dict[str, Any]] = {
    "text": {"text": ""}, "tool_use": {"input": {}}, "thinking": {"thinking": "", "signature": ""},
}  # fmt: skip


def _block(index: int, block: dict[str, Any], size: int) -> Iterator[bytes]:
    yield _event("content_block_start", index=index, content_block=block | _EMPTY.get(block["type"], {}))
    for delta in _deltas(block, size):
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _deltas(block: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        yield from ({"type": "text_delta", "text": part} for part in pieces(block["text"], size))
    elif block["type"] == "tool_use":
        # a string stands for arguments that are no JSON
        arguments = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
        yield from ({"type": "input_json_delta", "partial_json": part} for part in pieces(arguments, size))
    elif block["type"] == "thinking":
        yield from ({"type": "thinking_delta", "thinking": part} for part in pieces(block["thinking"], size))
        yield {"type": "signature_delta", "signature": block["signature"]}


def broken() -> bytes:
    """The event by which a stream says that it cannot go on."""
    return _event("error", error={"type": "overloaded_error", "message": "Overloaded"})
