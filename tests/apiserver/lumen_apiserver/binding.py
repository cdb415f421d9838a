"""Thinking that goes back: Anthropic's is signed for all that stood before it, DeepSeek's must not be left out."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from lumen_apiserver.request import Request

_CHANGED = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
_LEFT_OUT = "The `reasoning_content` in the thinking mode must be passed back to the API."


def signed(content: tuple[dict[str, Any], ...], request: Request) -> tuple[dict[str, Any], ...]:
    """The blocks of an answer, its thinking signed for this request."""
    mark = _signature(request, len(request.messages))
    return tuple(block | {"signature": mark} if block["type"] == "thinking" else block for block in content)


def problem(request: Request) -> str:
    """What is wrong with the thinking in a request; empty where nothing is."""
    if request.kind == "chat":
        called = [message for message in request.messages if message.get("tool_calls")]
        return _LEFT_OUT if any("reasoning_content" not in message for message in called) else ""
    for number, message in enumerate(request.messages):
        for place, block in enumerate(_blocks(message)):
            if block.get("type") == "thinking" and block.get("signature") != _signature(request, number):
                return f"messages.{number}.content.{place}: {_CHANGED}"
    return ""


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _signature(request: Request, number: int) -> str:
    """Of the system prompt, the tools and so many messages, without marks for the cache and earlier thinking."""
    prefix = [request.body.get("system"), request.body.get("tools")]
    prefix += [
        [block for block in _blocks(one) if block.get("type") != "thinking"] for one in request.messages[:number]
    ]
    return hashlib.sha256(json.dumps(_bare(prefix), sort_keys=True).encode()).hexdigest()[:16]


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _bare(inner) for name, inner in value.items() if name != "cache_control"}
    return [_bare(inner) for inner in value] if isinstance(value, list) else value
