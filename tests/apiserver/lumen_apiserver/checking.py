"""Requests are held against the rules of the real APIs, so that a client cannot get away with less here."""

from __future__ import annotations

import base64
import re
from typing import Any

from lumen_apiserver.request import Request

_MOST_MARKS = 4


def problem(request: Request) -> str:
    """What is wrong with a request; empty where nothing is."""
    if not request.model:
        return "model: Field required"
    if not request.messages:
        return "messages: at least one message is required"
    if odd := [name for name in request.called if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)]:
        return f"messages: the name of a tool does not match the pattern '^[a-zA-Z0-9_-]{{1,64}}$': {odd[0][:80]!r}"
    if request.kind == "chat":
        return _chat_problem(request)
    if request.kind == "messages" and not isinstance(request.body.get("max_tokens"), int):
        return "max_tokens: Field required"
    return _pairs_problem(request.messages) or _marks_problem(request) or _media_problem(request.messages)


def _list(content: Any) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else []


def _ids(message: dict[str, Any], kind: str, name: str) -> list[str]:
    return [str(block.get(name)) for block in _list(message.get("content")) if block.get("type") == kind]


def _pairs_problem(messages: list[dict[str, Any]]) -> str:
    if messages[0].get("role") != "user":
        return "messages: first message must use the user role"
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        if not message.get("content"):
            return f"messages.{number}: all messages must have non-empty content"
        if any(b.get("type") == "text" and not b.get("text") for b in _list(message["content"])):
            return f"messages.{number}: text content blocks must be non-empty"
        texts = [block for block in _list(message["content"]) if block.get("type") == "text"]
        if texts and not any(block["text"].strip() for block in texts):
            return "messages: text content blocks must contain non-whitespace text"
        results = _ids(message, "tool_result", "tool_use_id")
        if missing := [call for call in open_calls if call not in results]:
            return f"messages.{number}: `tool_use` ids were found without `tool_result` blocks: {missing}"
        if odd := [result for result in results if result not in open_calls]:
            return f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {odd}"
        open_calls = _ids(message, "tool_use", "id") if message.get("role") == "assistant" else []
        if len(set(open_calls)) != len(open_calls):
            return f"messages.{number}: `tool_use` ids must be unique"
    return f"messages: `tool_use` without `tool_result`: {open_calls}" if open_calls else ""


_BEGINNINGS = {
    "image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8", "image/webp": b"RIFF",
    "application/pdf": b"%PDF-",
}  # fmt: skip
_MOST_BASE64 = 5 * 1024 * 1024


def _sources(value: Any) -> list[tuple[str, dict[str, Any]]]:
    """The images and documents, inside results of tools as well: their kind, and where they come from."""
    found = []
    for block in _list(value):
        if block.get("type") in ("image", "document"):
            found.append((block["type"], block.get("source") or {}))
        found += _sources(block.get("content"))
    return found


def _media_problem(messages: list[dict[str, Any]]) -> str:
    for kind, source in [one for message in messages for one in _sources(message.get("content"))]:
        of = source.get("media_type")
        if source.get("type") != "base64" or of not in _BEGINNINGS or (of == "application/pdf") != (kind == "document"):
            return f"messages: {kind}.source: Input should be a base64 source of a known media type"
        data = base64.b64decode(source["data"], validate=True)
        if kind == "image" and len(source["data"]) > _MOST_BASE64:
            return f"messages: image exceeds 5 MB maximum: {len(source['data'])} bytes > {_MOST_BASE64} bytes"
        if not data.startswith(_BEGINNINGS[of]):
            return f"messages: {kind}.source.base64: the media type {of} does not match the data"
    return ""


def _marks_problem(request: Request) -> str:
    marks = len(_marks(request))
    if marks > _MOST_MARKS:
        return f"A maximum of 4 blocks with cache_control may be provided. Found {marks}."
    lives = [mark.get("ttl", "5m") for mark in _marks(request)]
    if "1h" in lives and "5m" in lives[: len(lives) - lives[::-1].index("1h")]:
        return "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
    return ""


def _marks(request: Request) -> list[dict[str, Any]]:
    """The marks for the cache, in the order in which the prompt is read."""
    blocks = [*(request.body.get("tools") or []), *_list(request.body.get("system"))]
    blocks += [block for message in request.messages for block in _list(message.get("content"))]
    return [block["cache_control"] for block in blocks if block.get("cache_control")]


def _chat_problem(request: Request) -> str:
    open_calls: list[str] = []
    for number, message in enumerate(request.messages):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_calls:
                return f"messages[{number}]: 'tool' must be a response to a preceding message with 'tool_calls'"
            open_calls.remove(str(message["tool_call_id"]))
            continue
        if open_calls:
            return f"An assistant message with 'tool_calls' must be followed by tool messages: {open_calls}"
        open_calls = [str(call.get("id")) for call in message.get("tool_calls") or []]
        if message.get("role") == "assistant" and not open_calls and not message.get("content"):
            return f"messages[{number}]: assistant message must have content or tool_calls"
    return f"'tool_calls' without a tool message: {open_calls}" if open_calls else ""
