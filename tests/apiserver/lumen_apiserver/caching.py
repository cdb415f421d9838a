"""Prompt caching as the Messages API bills it: entries are written at `cache_control` marks, the longest is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from lumen_apiserver.request import Request, tokens


def _blocks(request: Request) -> Iterator[dict[str, Any]]:
    """Everything that makes the prompt, in the order in which it is cached: tools, system, messages."""
    for tool in request.body.get("tools") or []:
        yield {"at": "tools", **tool}
    system = request.body.get("system") or []
    yield from ({"at": "system", **b} for b in ([{"text": system}] if isinstance(system, str) else system))
    for message in request.messages:
        content = message.get("content")
        content = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        yield from ({"at": message.get("role"), **block} for block in content)


class Cache:
    """What was written so far, by the hash of a prefix."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def bill(self, request: Request) -> dict[str, int]:
        """The three input counts of a request; writes its marked prefixes."""
        digest, total, read, marked, hour = hashlib.sha256(request.model.encode()), 0, 0, 0, 0
        writes = set()
        for block in _blocks(request):
            mark = block.pop("cache_control", None)
            digest.update(json.dumps(block, sort_keys=True).encode())
            total += tokens(block)
            if digest.hexdigest() in self._written:
                read = total
            if mark:
                marked = total
                hour = total if mark.get("ttl") == "1h" else hour
                writes.add(digest.hexdigest())
        self._written |= writes
        read = min(read, marked)
        return {
            "input_tokens": total - marked, "cache_read_input_tokens": read,
            "cache_creation_input_tokens": marked - read,
            "cache_creation": {
                "ephemeral_1h_input_tokens": max(0, hour - read),
                "ephemeral_5m_input_tokens": marked - max(read, hour),
            },
        }  # fmt: skip
