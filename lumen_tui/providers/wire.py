"""What one vendor's API is to a conversation: it sends a prompt and streams the answer."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol

from lumen_tui.model.modelsconfig import ModelsConfig
from lumen_tui.providers.endpoints import Target
from lumen_tui.providers.failing import Failure
from lumen_tui.providers.history import Prompt, Turn

MOST_CHARACTERS = 2_000_000  # of one answer, calls included; no honest model comes near

Stream = Generator[str, None, Turn]  # texts as they come, empty for other signs of life; returns the whole


def too_long() -> Failure:
    """An answer that passed MOST_CHARACTERS."""
    return Failure(f"the model's answer passed {MOST_CHARACTERS:,} characters and was ended: ask for less at a time")


class Wire(Protocol):
    """A model behind an API. All methods but `count` raise Failure."""

    target: Target
    max_output: int  # tokens of one answer that are asked for

    def ask(self, prompt: Prompt, most: int = 0) -> Stream:
        """Make one call, for an answer of `most` tokens; 0: of `max_output`."""

    def size(self, prompt: Prompt) -> int:
        """The bytes of a request, about."""

    def count(self, prompt: Prompt) -> int | None:
        """The tokens of a request where the API can count them, else None."""

    def close(self) -> None:
        """Let go of connections."""


def timeouts(config: ModelsConfig, target: Target) -> dict[str, float]:
    """The limits of one request in seconds. A server on this machine may have to load its model first."""
    first = config.first_byte_seconds * (5 if target.endpoint.own else 1)
    return {"timeout": first, "connect": config.connect_seconds, "read": first}


def once_begun(response: Any, silence: float) -> None:
    """From the first byte on another limit holds: httpx reads it from the request when the body begins."""
    limits = getattr(getattr(response, "request", None), "extensions", {}).get("timeout")
    if isinstance(limits, dict):
        limits["read"] = silence
