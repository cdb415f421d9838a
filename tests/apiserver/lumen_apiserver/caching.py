"""Prompt caching as the Messages API documents it (platform.claude.com, "Prompt caching").

A prompt is tools, then system, then messages, as blocks. Each block with `cache_control` is a breakpoint: what stands
up to it can be written as an entry, and up to it the longest entry is looked for.

- An entry is of one model, and of a prefix that is the same to the byte. What is set for thinking and the choice of
  tools counts from the first message on.
- At each breakpoint 20 positions are looked at, itself included, backwards; nothing further back is found.
- A prefix shorter than the model's minimum is neither written nor read, without an error.
- An entry lives for five minutes, or an hour where its mark says `"ttl": "1h"`, from its last use on.
- Read is the longest entry that was found; up to the last breakpoint with an hour the rest is written for an hour, up
  to the last one for five minutes; what comes behind is plain input.

What is simpler here: an entry is there at once, not when its answer begins, and none is lost before its time.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lumen_apiserver.request import Request, tokens

LOOKBACK = 20  # positions at a breakpoint
LIVES = {"5m": 300.0, "1h": 3600.0}  # seconds
# Tokens that a prefix must have, by the beginning of the model's id. Of Haiku 5.5 no figure was found: it has that of
# the Haiku before it, the largest there is.
_LEAST = {
    "claude-opus-5": 512, "claude-fable-5": 512, "claude-sonnet": 1024, "claude-opus-4-8": 1024,
    "claude-opus-4-7": 2048,
    "claude-opus-4": 4096, "claude-haiku": 4096,
}  # fmt: skip
Now = Callable[[], float]


def least(model: str) -> int:
    """The tokens that a prefix must have to be cached; 0 for a model that is not Anthropic's."""
    return next((count for name, count in _LEAST.items() if model.startswith(name)), 0)


@dataclass(frozen=True)
class _Position:
    """The end of one block: the hash and the tokens of all up to it, and how long an entry here would live."""

    digest: str
    total: int
    lives: float  # seconds; 0: no breakpoint


def _blocks(request: Request) -> Iterator[dict[str, Any]]:
    """Everything that makes the prompt, in the order in which it is cached: tools, system, messages."""
    for tool in request.body.get("tools") or []:
        yield {"at": "tools", **tool}
    system = request.body.get("system") or []
    yield from ({"at": "system", **b} for b in ([{"text": system}] if isinstance(system, str) else system))
    settings = {name: request.body[name] for name in ("thinking", "tool_choice") if name in request.body}
    for message in request.messages:
        content = message.get("content")
        content = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for block in content:
            yield {"at": message.get("role"), "settings": settings, **block}


def _positions(request: Request) -> list[_Position]:
    digest, total, found = hashlib.sha256(request.model.encode()), 0, []
    for block in _blocks(request):
        mark, settings = block.pop("cache_control", None), block.pop("settings", {})
        total += tokens(block)
        digest.update(json.dumps([block, settings], sort_keys=True).encode())
        lives = LIVES[mark.get("ttl", "5m")] if mark else 0.0
        found.append(_Position(digest.hexdigest(), total, lives))
    return found


class Cache:
    """The entries, by the hash of their prefix. `now` gives seconds; a story of a day sets a clock of its own."""

    def __init__(self, now: Now = time.monotonic) -> None:
        self.now = now
        self._ends: dict[str, tuple[float, float]] = {}  # when an entry ends, and how long a use keeps it

    def bill(self, request: Request) -> dict[str, Any]:
        """The three input counts of a request; writes its breakpoints, and keeps what it read."""
        places = _positions(request)
        marks = [number for number, place in enumerate(places) if place.lives and place.total >= least(request.model)]
        read = max((self._longest(places, mark) for mark in marks), default=0)
        for mark in marks:
            self._write(places[mark])
        last = max((places[mark].total for mark in marks), default=0)
        hour = max((places[mark].total for mark in marks if places[mark].lives == LIVES["1h"]), default=0)
        return {
            "input_tokens": (places[-1].total if places else 0) - last, "cache_read_input_tokens": read,
            "cache_creation_input_tokens": last - read,
            "cache_creation": {
                "ephemeral_1h_input_tokens": max(0, hour - read),
                "ephemeral_5m_input_tokens": last - max(read, hour),
            },
        }  # fmt: skip

    def _longest(self, places: list[_Position], mark: int) -> int:
        """The tokens of the longest entry that is found at a breakpoint; it lives on."""
        for place in places[mark : max(-1, mark - LOOKBACK) : -1] if mark >= LOOKBACK else places[mark::-1]:
            ends, lives = self._ends.get(place.digest, (0.0, 0.0))
            if self.now() < ends:
                self._ends[place.digest] = (self.now() + lives, lives)
                return place.total
        return 0

    def _write(self, place: _Position) -> None:
        ends, lives = self._ends.get(place.digest, (0.0, 0.0))
        lives = max(place.lives, lives if self.now() < ends else 0.0)
        self._ends[place.digest] = (max(ends, self.now() + lives), lives)
