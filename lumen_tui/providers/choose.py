"""Which back end a task gets, and which model."""

from __future__ import annotations

from collections.abc import Mapping

from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import TIERS, Spec
from lumen_tui.providers.base import Provider, ProviderError

_KEYS = {"anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")}


def provider_name(config: ModelsConfig, environ: Mapping[str, str]) -> str:
    """`auto` resolved: anthropic where a key is set, else offline. Other names are handed through."""
    if config.provider != "auto":
        return config.provider
    return "anthropic" if environ.get("ANTHROPIC_API_KEY") else "offline"


def key_names(provider: str) -> tuple[str, ...]:
    """The environment variables that a worker needs for a provider, and that no other worker should get."""
    return _KEYS.get(provider, ())


def model_id(config: ModelsConfig, role: Role, spec: Spec) -> str:
    """The model of a task: the spec's tier or id, else the role's tier; tiers become ids by the configuration."""
    wanted = spec.model or role.tier
    ids = {"haiku": config.haiku, "sonnet": config.sonnet, "opus": config.opus}
    return ids[wanted] if wanted in TIERS else wanted


def choose_provider(config: ModelsConfig, role: Role, spec: Spec, environ: Mapping[str, str]) -> Provider:
    """The back end of a task. ProviderError where it is unknown or lacks its key."""
    name = provider_name(config, environ)
    if name == "offline":
        from lumen_tui.providers.offline import Offline

        return Offline()
    if name == "anthropic":
        from lumen_tui.providers.anthropic import Anthropic

        return Anthropic(model_id(config, role, spec), environ)
    raise ProviderError(
        f"the provider {name!r} is not available: set provider under [models] in lumen.toml to auto, offline or "
        "anthropic"
    )
