"""[models]: which model answers for which tier and role, where it is, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from lumen_tui.model.text import one_line

SERVERS = ("anthropic", "openai", "groq", "openrouter", "ollama", "vllm", "lmstudio")  # known without an address
NO_SERVERS = ("offline", "claude")  # back ends that are no server
_Dollars = Annotated[float, Meta(ge=0, le=1_000_000)]
_Id = Annotated[str, Meta(pattern=r"\S")]
_Seconds = Annotated[float, Meta(ge=0.05, le=86_400)]


class ServerConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[models.endpoints.NAME]: a server of models. What is left out is as built in for that name, where it is known."""

    kind: Literal["", "anthropic", "openai"] = ""  # the API that it speaks; empty: openai
    base_url: str = ""
    key_env: str = ""  # the environment variable that holds its key; empty: it needs none
    window: Annotated[int, Meta(ge=0, le=100_000_000)] = 0  # tokens that its models take; 0: not known
    max_output: Annotated[int, Meta(ge=0, le=10_000_000)] = 0  # tokens of one answer; 0: as built in


class PriceConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[models.prices.MODEL]: dollars per million tokens."""

    input: _Dollars = 0.0
    output: _Dollars = 0.0
    cache_read: _Dollars | None = None  # left out: a tenth of input
    cache_write: _Dollars | None = None  # left out: a quarter more than input


class ClaudeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[models.claude]: the Claude Code program."""

    program: str = "claude"  # a name on PATH, or a path


class ModelsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[models]: model ids by tier; they are the operator's to change. An id may be `endpoint:id`."""

    provider: str = "auto"  # auto | offline | claude | an endpoint: anthropic, openai, groq, ollama, …
    haiku: _Id = "claude-haiku-5-5"
    sonnet: _Id = "claude-sonnet-5-5"
    opus: _Id = "claude-opus-5-5"
    roles: dict[str, str] = field(default_factory=dict)  # role -> tier, id or endpoint:id
    fallback: dict[str, tuple[str, ...]] = field(default_factory=dict)  # tier or id -> what answers when it does not
    endpoints: dict[str, ServerConfig] = field(default_factory=dict)
    prices: dict[str, PriceConfig] = field(default_factory=dict)
    claude: ClaudeConfig = field(default_factory=ClaudeConfig)
    tries: Annotated[int, Meta(ge=1, le=20)] = 8  # of one call, where trying again can help
    connect_seconds: _Seconds = 10.0
    first_byte_seconds: _Seconds = 110.0  # until an answer begins; five times that for a server on this machine
    silence_seconds: _Seconds = 90.0  # within an answer


def stranger(config: ModelsConfig, text: str) -> str:
    """Why `text` is no model: a sentence where the name before its colon is no endpoint, else the empty string."""
    name, colon, model = text.partition(":")
    if not colon or (model and name in (*SERVERS, *NO_SERVERS, *config.endpoints)):
        return ""
    place = next((setting for setting, value in settings(config) if value == text), "the model")
    if not model:
        return f"{place}: {one_line(text, 60)!r} names no model behind the colon"
    known = ", ".join(sorted({*SERVERS, *NO_SERVERS, *config.endpoints}))
    return (
        f"{place}: {one_line(text, 60)!r} begins with no known endpoint: one of {known}; describe yours under "
        "[models.endpoints.NAME], and for an id with a colon write the endpoint before it, such as ollama:qwen3:8b"
    )


def settings(config: ModelsConfig) -> Iterator[tuple[str, str]]:
    """Every setting that names a model, with its value."""
    yield from (("models.haiku", config.haiku), ("models.sonnet", config.sonnet), ("models.opus", config.opus))
    yield from ((f"models.roles.{one_line(role, 64)}", value) for role, value in config.roles.items())
    for key, values in config.fallback.items():
        yield from ((f"models.fallback.{one_line(key, 64)}", value) for value in values)
