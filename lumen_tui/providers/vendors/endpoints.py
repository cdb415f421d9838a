"""Where models are and what their calls cost: servers known by name, list prices, and what the operator configured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from lumen_tui.model.budget import light_tokens
from lumen_tui.model.config import NO_SERVERS, ModelsConfig, ServerConfig, is_endpoint, stranger
from lumen_tui.model.tasks import TIERS, Usage
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import ProviderError

_WINDOW = 200_000
_OUTPUT = 8_000  # tokens of one answer where nothing else is said and it costs something: more could pass a cap
_SEES: tuple[Literal["image", "pdf"], ...] = ("image", "pdf")
BUILT_IN = {
    "anthropic": ServerConfig("anthropic", "", "ANTHROPIC_API_KEY", _WINDOW, 16_000),
    "openai": ServerConfig("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", 128_000, 16_000, _SEES),
    "groq": ServerConfig("openai", "https://api.groq.com/openai/v1", "GROQ_API_KEY", 128_000, 8_000),
    "openrouter": ServerConfig("openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", 0, 8_000),
    "ollama": ServerConfig("openai", "http://127.0.0.1:11434/v1"),
    "vllm": ServerConfig("openai", "http://127.0.0.1:8000/v1"),
    "lmstudio": ServerConfig("openai", "http://127.0.0.1:1234/v1"),
}
# Variables beside the key, as the vendors' own programs know them: another form of the key, another address.
_TOKENS = {"anthropic": "ANTHROPIC_AUTH_TOKEN"}
_ADDRESSES = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}


class Endpoint(Struct, frozen=True):
    """A server of models."""

    name: str
    kind: str  # anthropic | openai: the API that it speaks
    base_url: str = ""  # empty: the SDK's own
    key_env: str = ""
    window: int = 0  # tokens; 0: not known
    max_output: int = 0  # tokens; 0: not limited by us, as it costs nothing
    takes: tuple[str, ...] = ()  # of image and pdf, what its models are sent

    @property
    def local(self) -> bool:
        """Whether it is on this machine."""
        from urllib.parse import urlsplit  # 2 ms, which whoever needs no address does without

        host = urlsplit(self.base_url).hostname or ""
        return host in ("localhost", "::1", "0.0.0.0") or host.startswith("127.")  # noqa: S104 - compared, not bound

    @property
    def own(self) -> bool:
        """Whether the models run here: they cost nothing and may have to load. A proxy of a vendor has a key."""
        return self.local and self.kind == "openai" and not self.key_env

    @property
    def key_names(self) -> tuple[str, ...]:
        """The environment variables that it may need."""
        names = (self.key_env, _TOKENS.get(self.name, ""), _ADDRESSES.get(self.name, ""))
        return tuple(name for name in names if name)

    def key(self, environ: Mapping[str, str]) -> str:
        """Return its key; empty where it needs none. ProviderError where it needs one that is not there."""
        key = environ.get(self.key_env, "") if self.key_env else ""
        if key or not self.key_env or self.local:
            return key
        raise ProviderError(
            f"{self.key_env} is not set: set it in the engine's environment, or set another provider under [models] in "
            'lumen.toml ("offline" needs no key)'
        )

    def check(self, environ: Mapping[str, str]) -> None:
        """Raise ProviderError where neither form of the key is there that it needs."""
        if not self.token(environ):
            self.key(environ)

    def token(self, environ: Mapping[str, str]) -> str:
        """Return the other form of the key, where the server has one."""
        return environ.get(_TOKENS.get(self.name, ""), "")


class Target(Struct, frozen=True):
    """A model at a server; for the back ends that are no server the endpoint's name says which."""

    endpoint: Endpoint
    model: str = ""

    @property
    def label(self) -> str:
        return f"{self.endpoint.name} {self.model}".strip()


def endpoint(config: ModelsConfig, name: str, environ: Mapping[str, str]) -> Endpoint:
    """Return the endpoint of that name. ProviderError where there is none, or it has no address."""
    configured, built_in = config.endpoints.get(name), BUILT_IN.get(name)
    if configured is None and built_in is None:
        known = ", ".join(sorted({*BUILT_IN, *config.endpoints, "auto", *NO_SERVERS}))
        raise ProviderError(
            f"the provider {one_line(name, 60)!r} is not available: set provider under [models] in lumen.toml to one "
            f"of {known}, or describe it under [models.endpoints.NAME]"
        )
    configured, built_in = configured or ServerConfig(), built_in or ServerConfig()
    kind = configured.kind or built_in.kind or "openai"
    url = configured.base_url or environ.get(_ADDRESSES.get(name, ""), "") or built_in.base_url
    if not url.startswith(("http://", "https://")) and (url or name not in BUILT_IN):
        raise ProviderError(f"base_url of [models.endpoints.{name}] in lumen.toml must begin with http:// or https://")
    max_output = configured.max_output or built_in.max_output or (16_000 if kind == "anthropic" else 0)
    resolved = Endpoint(
        name,
        kind,
        url,
        configured.key_env or built_in.key_env,
        configured.window or built_in.window,
        max_output,
        _taken(configured, built_in, kind),
    )
    return resolved if max_output or resolved.own else replace(resolved, max_output=_OUTPUT)


def _taken(configured: ServerConfig, built_in: ServerConfig, kind: str) -> tuple[str, ...]:
    """Return what models of an endpoint are sent: as configured, as built in, else what all of Anthropic's take."""
    by_itself = _SEES if kind == "anthropic" else ()
    return next((takes for takes in (configured.takes, built_in.takes) if takes is not None), by_itself)


def split(config: ModelsConfig, text: str) -> tuple[str, str]:
    """Split `endpoint:model`; the endpoint is empty where none is named. ProviderError for an unknown one."""
    if problem := stranger(config, text):
        raise ProviderError(problem)
    name, colon, model = text.partition(":")
    if text in NO_SERVERS:
        return text, ""
    if colon and is_endpoint(config, name):
        return name, model
    return "", text  # `qwen3:8b` is an id as a whole


def expand(config: ModelsConfig, name: str) -> str:
    """Return the model id of a tier; anything else as it is."""
    return {"haiku": config.haiku, "sonnet": config.sonnet, "opus": config.opus}[name] if name in TIERS else name


def cheap_target(config: ModelsConfig, beside: Target) -> Target:
    """Return the cheap tier at the server of `beside`. ProviderError where that has none.

    What a conversation holds goes to no other server. A tier as the settings ship it is none for servers that have no
    such model.
    """
    name, model = split(config, expand(config, TIERS[0]))
    default = "anthropic" if config.provider == "auto" else config.provider
    if (name or default) != beside.endpoint.name:
        raise ProviderError(f"the {TIERS[0]} tier is at another server than {beside.label}")
    if not model or (not name and known(model) is not None and beside.endpoint.kind != "anthropic"):
        raise ProviderError(f"no cheap tier is set for {beside.endpoint.name} ({TIERS[0]} under [models])")
    return Target(beside.endpoint, model)


_CACHE_READ = 0.1  # times the input price
_CACHE_WRITE = 1.25
_CACHE_HOUR = 0.75  # more than that, for what is kept for an hour


class Price(Struct, frozen=True):
    """What a million tokens cost; above `band` prompt tokens everything costs `dearer` times as much."""

    input: float
    output: float
    band: int = 0
    dearer: float = 1.0
    cache_read: float | None = None  # None: a tenth of input
    cache_write: float | None = None  # None: a quarter more than input


# Published list prices in dollars per million tokens (platform.claude.com, November 2026).
PRICES = {
    "claude-haiku-5-5": Price(0.10, 0.50, band=100_000, dearer=5.0),
    "claude-sonnet-5-5": Price(2.0, 10.0, cache_read=0.10),
    "claude-sonnet-5": Price(2.0, 10.0),
    "claude-opus-5-5": Price(4.0, 20.0, cache_read=0.20),
    "claude-opus-5": Price(5.0, 25.0),
    "claude-fable-5-1": Price(10.0, 50.0, cache_read=0.25),
    "claude-fable-5": Price(10.0, 50.0),
    "claude-haiku-4-5": Price(1.0, 5.0),
    "claude-sonnet-4-6": Price(3.0, 15.0),
    "claude-sonnet-4-5": Price(3.0, 15.0),
    "claude-opus-4-8": Price(5.0, 25.0),
    "claude-opus-4-7": Price(5.0, 25.0),
    "claude-opus-4-6": Price(5.0, 25.0),
    "claude-opus-4-5": Price(5.0, 25.0),
}
DEAREST = max(PRICES.values(), key=lambda price: (price.output, price.cache_read is None))
FREE = Price(0.0, 0.0)


def known(model: str) -> Price | None:
    """Return the list price of a model by its exact id, with or without a date."""
    return PRICES.get(re.sub(r"-\d{8}$", "", model))


def price_of(config: ModelsConfig, endpoint: str, model: str, *, own: bool = False) -> Price | None:
    """Return the price of a model at an endpoint: the operator's word first; our `own` server costs nothing."""
    price = config.prices.get(f"{endpoint}:{model}") or config.prices.get(model)
    if price is not None:
        return Price(price.input, price.output, cache_read=price.cache_read, cache_write=price.cache_write)
    return FREE if own else known(model)


def cost(
    model: str, fresh: int, written: int, read: int, output: int, price: Price | None = None, *, hour: int = 0
) -> Usage:
    """Return tokens and dollars of one call: `fresh`, `written` to and `read` from the cache make the prompt. Of
    those written, `hour` are kept for an hour. A model without a known price counts as the dearest, so that caps hold.
    """
    price = price or known(model) or DEAREST
    reading = price.input * _CACHE_READ if price.cache_read is None else price.cache_read
    writing = price.input * _CACHE_WRITE if price.cache_write is None else price.cache_write
    prompt = fresh + written + read
    longer = hour * price.input * _CACHE_HOUR
    dollars = (longer + fresh * price.input + read * reading + written * writing + output * price.output) / 1e6
    if 0 < price.band < prompt:
        dollars *= price.dearer
    return Usage(prompt, output, dollars, read, light_tokens(read, price.input, reading))
