"""[models]: which model answers for which tier and role, where it is, and what it costs."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

_Dollars = Annotated[float, Meta(ge=0, le=1_000_000)]
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
    haiku: str = "claude-haiku-5-5"
    sonnet: str = "claude-sonnet-5-5"
    opus: str = "claude-opus-5-5"
    roles: dict[str, str] = field(default_factory=dict)  # role -> tier, id or endpoint:id
    fallback: dict[str, tuple[str, ...]] = field(default_factory=dict)  # tier or id -> what answers when it does not
    endpoints: dict[str, ServerConfig] = field(default_factory=dict)
    prices: dict[str, PriceConfig] = field(default_factory=dict)
    claude: ClaudeConfig = field(default_factory=ClaudeConfig)
    tries: Annotated[int, Meta(ge=1, le=20)] = 8  # of one call, where trying again can help
    connect_seconds: _Seconds = 10.0
    first_byte_seconds: _Seconds = 110.0  # until an answer begins; five times that for a server on this machine
    silence_seconds: _Seconds = 90.0  # within an answer
