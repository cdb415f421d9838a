"""What one vendor's API is to a conversation: it sends a prompt and streams the answer."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Protocol

from lumen_tui.model.config import ModelsConfig
from lumen_tui.providers.conversation.history import AssistantMessage, Prompt
from lumen_tui.providers.errors import ModelCallError
from lumen_tui.providers.vendors.endpoints import Target

MAX_CHARACTERS = 2_000_000  # of one answer, calls included; no honest model comes near

Stream = Generator[str, None, AssistantMessage]  # texts as they come, empty for other signs of life; returns the whole


def too_long() -> ModelCallError:
    """Return the error for an answer that passed MAX_CHARACTERS."""
    return ModelCallError(
        f"the model's answer passed {MAX_CHARACTERS:,} characters and was ended: ask for less at a time"
    )


class ModelClient(Protocol):
    """A model behind an API. All methods but `count` raise ModelCallError."""

    target: Target
    max_output: int  # tokens of one answer that are asked for

    def ask(self, prompt: Prompt, most: int, sent: Callable[[], None]) -> Stream:
        """Make one call, for an answer of `most` tokens; 0: of `max_output`. `sent` is called before it leaves."""

    def size(self, prompt: Prompt) -> int:
        """Return about how many bytes the request has."""

    def count(self, prompt: Prompt) -> int | None:
        """Return the tokens of a request where the API can count them, else None."""

    def close(self) -> None:
        """Close the connections."""


def timeouts(config: ModelsConfig, target: Target) -> dict[str, float]:
    """Return the limits of one request in seconds."""
    first = patience(config, target)
    return {"timeout": first, "connect": config.connect_seconds, "read": first}


def patience(config: ModelsConfig, target: Target) -> float:
    """Seconds until an answer must have begun. Anthropic begins at once; others say nothing while a model thinks, and
    one on this machine may have to load first."""
    return config.first_byte_seconds * (1 if target.endpoint.kind == "anthropic" else 5)
