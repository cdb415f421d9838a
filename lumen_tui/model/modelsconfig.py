"""[models]: which model answers for which tier and role, where it is, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from lumen_tui.model.tasks import TIERS
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
    first_byte_seconds: _Seconds = 110.0  # until an answer of Anthropic begins; five times that for all others
    silence_seconds: _Seconds = 90.0  # within an answer of Anthropic


def _takes_any_id(config: ModelsConfig) -> bool:
    """Whether the ids of the provider's models are anybody's to choose, colons included: `qwen3:8b` of Ollama."""
    own = config.endpoints.get(config.provider)
    kind = own.kind if own else ""
    if config.provider == "anthropic" or config.provider not in (*SERVERS, *config.endpoints):
        return False
    return kind != "anthropic"


def is_endpoint(config: ModelsConfig, name: str) -> bool:
    """Return whether a model may stand behind this name and a colon."""
    return name in (*SERVERS, *NO_SERVERS, *config.endpoints)


def stranger(config: ModelsConfig, text: str) -> str:
    """Why `text` is no model: a sentence where the name before its colon is no endpoint, else the empty string."""
    name, colon, model = text.partition(":")
    if not colon or (model and is_endpoint(config, name)):
        return ""
    place = next((setting for setting, value in settings(config) if value == text), "the model")
    if not model:
        return f"{place}: {one_line(text, 60)!r} names no model behind the colon"
    if _takes_any_id(config):
        return ""
    known = ", ".join(sorted({*SERVERS, *NO_SERVERS, *config.endpoints}))
    return (
        f"{place}: {one_line(text, 60)!r} begins with no known endpoint: one of {known}; describe yours under "
        "[models.endpoints.NAME], and for an id with a colon write the endpoint before it, such as ollama:qwen3:8b"
    )


def doubtful(config: ModelsConfig) -> Iterator[str]:
    """What in the settings of models can hardly be meant, in words: a mistyped tier, a fall-back that never answers."""
    for place, value in settings(config):
        if near := _mistyped(value, TIERS):
            yield f"{place}: {one_line(value, 60)!r} is no tier; did you mean {near}?"
    for key, values in config.fallback.items():
        yield from _doubtful_chain(config, key, values)


def _doubtful_chain(config: ModelsConfig, key: str, values: tuple[str, ...]) -> Iterator[str]:
    place = f"models.fallback.{one_line(key, 64)}"
    if problem := stranger(config, key):
        yield f"{place}: {problem.partition(': ')[2]}"
    elif near := _mistyped(key, TIERS) or _mistyped(key, {value for _, value in settings(config)} - {*values}, 0.85):
        yield f"{place}: no tier and no setting of a model has this name; did you mean {near}?"
    for value in values:
        if value in NO_SERVERS:
            yield f"{place}: {value} cannot take over a conversation: take it out"
        elif not value.strip():
            yield f"{place}: it holds an empty name"
        elif value == key:
            yield f"{place}: {one_line(value, 60)!r} stands by for itself: take it out"


def _mistyped(text: str, known: Iterable[str], likeness: float = 0.7) -> str:
    """The known name that `text` may stand for, which is not it itself; tiers are bare words, ids hardly ever."""
    known = sorted(known)
    if text in known or ":" in text or (likeness < 0.8 and not text.isalpha()):
        return ""
    import difflib  # only where something is doubtful: the hot verbs read settings too

    return next(iter(difflib.get_close_matches(text, known, 1, likeness)), "")


def settings(config: ModelsConfig) -> Iterator[tuple[str, str]]:
    """Yield every setting that names a model, with its value."""
    yield from (("models.haiku", config.haiku), ("models.sonnet", config.sonnet), ("models.opus", config.opus))
    yield from ((f"models.roles.{one_line(role, 64)}", value) for role, value in config.roles.items())
    for key, values in config.fallback.items():
        yield from ((f"models.fallback.{one_line(key, 64)}", value) for value in values)
