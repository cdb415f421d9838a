"""Which back end a task gets, which model, and what to load for it beforehand."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from lumen_tui.model import agent
from lumen_tui.model.config import NO_SERVERS, ROUTINE, ModelsConfig
from lumen_tui.model.digests import sha256
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import TIERS, Spec
from lumen_tui.providers.base import Provider, ProviderError, Tuning
from lumen_tui.providers.vendors.endpoints import Endpoint, Target, endpoint, expand, known, split
from lumen_tui.storage.stamped import stamp

_CLAUDE_KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CONFIG_DIR",
)
_BACK_ENDS = {name: Endpoint(name, name) for name in NO_SERVERS}


def provider_name(config: ModelsConfig, environ: Mapping[str, str]) -> str:
    """Resolve `auto`: anthropic where a key is set, else offline. Other names are returned as they are."""
    if config.provider != "auto":
        return config.provider
    keyed = environ.get("ANTHROPIC_API_KEY") or environ.get("ANTHROPIC_AUTH_TOKEN")
    return "anthropic" if keyed else "offline"


def lacking(config: ModelsConfig, environ: Mapping[str, str]) -> list[str]:
    """Say why tasks will fail, as far as can be known before: what the models that the settings name have to have.

    What stands by for another may lack it: it is passed over then.
    """
    if config.provider == "offline":
        return []
    models = (config.haiku, config.sonnet, config.opus, *config.roles.values())
    reasons = [_lacks(config, environ, config.provider) if config.provider != "auto" else ""]
    reasons += [_lacks(config, environ, model=model) for model in models]
    return [reason for reason in dict.fromkeys(reasons) if reason]


def _lacks(config: ModelsConfig, environ: Mapping[str, str], name: str = "", model: str = "") -> str:
    """Return what the named endpoint, or that of the model, lacks; empty where it lacks nothing."""
    try:
        name = name or split(config, expand(config, model))[0]
        if name == "claude":
            from lumen_tui.providers.claude_code import program

            program.find(config, environ)
        elif name not in ("", "offline"):
            endpoint(config, name, environ).check(environ)
    except ProviderError as error:
        return str(error)
    return ""


def key_names(
    provider: str, config: ModelsConfig | None = None, role: str = "", tier: str = "", model: str = ""
) -> tuple[str, ...]:
    """Return the environment variables that a worker needs, and that no other worker should get.

    `provider` is that of the tasks that name none. With the configuration, the task's role, its role's tier and its
    own model they are those of every endpoint the task may come to, fall-backs included.
    """
    if config is None:
        names = [provider]
    elif config.provider == "offline":
        names = []
    else:
        names = _endpoints(config, _wanted(config, role, tier, model), provider)
    variables = [name for endpoint_name in names for name in _keys_of(config or ModelsConfig(), endpoint_name)]
    return tuple(dict.fromkeys(variables))


def endpoints_of(config: ModelsConfig, provider: str, role: Role, model: str = "") -> list[str]:
    """Return the endpoints that a task of a role may come to, the first to be asked first; none without a model."""
    if config.provider == "offline":
        return []
    return _endpoints(config, _wanted(config, role.name, role.tier, model), provider)


def endpoint_mark(config: ModelsConfig, name: str, environ: Mapping[str, str]) -> str:
    """Return what tells the key and the address of an endpoint from others; neither can be read from it."""
    values = [f"{variable}={environ.get(variable, '')}" for variable in _keys_of(config, name)]
    values += [name, config.provider, str(config.endpoints.get(name))]
    if name == "claude":
        folder = Path(environ.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser()
        values += [config.claude.program, str(stamp(folder / ".credentials.json"))]
    return sha256("\0".join(values).encode("utf-8", "replace"))[:12]


def _endpoints(config: ModelsConfig, model: str, provider: str) -> list[str]:
    try:
        return [name or provider for name, _ in _chain(config, model)]
    except ProviderError:
        return []  # the worker says what is wrong with it


def _keys_of(config: ModelsConfig, endpoint_name: str) -> tuple[str, ...]:
    if endpoint_name == "claude":
        return _CLAUDE_KEYS
    try:
        return endpoint(config, endpoint_name, {}).key_names
    except ProviderError:
        return ()  # the worker says what is wrong with it


def _wanted(config: ModelsConfig, role: str, tier: str, model: str) -> str:
    """Return what a task asks for: its own model, else that of its role in the configuration, else its role's tier."""
    return model or config.roles.get(role, "") or tier


def _chain(config: ModelsConfig, model: str) -> Iterator[tuple[str, str]]:
    """Yield endpoint (empty: the provider's) and model for a task, then those of its fall-backs."""
    first = split(config, expand(config, model))
    yield first
    name, model_id = first
    fallbacks = next(
        (config.fallback[key] for key in (model, f"{name}:{model_id}", model_id) if key in config.fallback), ()
    )
    for fallback in fallbacks:
        yield split(config, expand(config, fallback))


def targets(config: ModelsConfig, role: Role, spec: Spec, environ: Mapping[str, str]) -> tuple[Target, ...]:
    """Return the models of a task, the first to be asked first. ProviderError where one is not known."""
    provider = provider_name(config, environ)
    if config.provider == "offline":
        return (Target(_BACK_ENDS["offline"]),)
    model = _wanted(config, role.name, role.tier, spec.model)
    return tuple(_target(config, name or provider, model_id, environ) for name, model_id in _chain(config, model))


def _target(config: ModelsConfig, name: str, model: str, environ: Mapping[str, str]) -> Target:
    if name in _BACK_ENDS:
        return Target(_BACK_ENDS[name], "" if name == "offline" else model)
    return Target(endpoint(config, name, environ), model)


def choose_provider(config: ModelsConfig, role: Role, spec: Spec, environ: Mapping[str, str]) -> Provider:
    """Return the back end of a task. ProviderError where it is unknown or lacks its key."""
    chain = targets(config, role, spec, environ)
    first = chain[0]
    if first.endpoint.name == "offline":
        from lumen_tui.providers.offline.provider import OfflineChat, OfflineProvider

        return OfflineChat() if agent.turn_of(spec.id) else OfflineProvider()
    if first.endpoint.name == "claude":
        from lumen_tui.providers.claude_code.provider import ClaudeCodeProvider

        return ClaudeCodeProvider(first.model, spec.steps or role.limits.max_steps, config, environ)
    from lumen_tui.providers.conversation.conversation import ModelProvider

    for target in chain[1:]:
        if target.endpoint.name in NO_SERVERS:
            raise ProviderError(
                f"{target.endpoint.name} cannot take over a conversation: take it out of [models.fallback]"
            )
    return ModelProvider(chain, config, environ)


def routine_model(config: ModelsConfig, role: Role, environ: Mapping[str, str]) -> str:
    """Return the tier or model on which routine work of a role begins; empty where that is the role's own.

    What stands in the settings as it is shipped gives way to a model that they name for the role, and to servers that
    have no such model.
    """
    first = config.routine.get(role.name, "")
    own = expand(config, _wanted(config, role.name, role.tier, ""))
    if not first or expand(config, first) == own:
        return ""
    if config.routine != ROUTINE:
        return first
    name, model = split(config, expand(config, first))
    kind = kind_of(config, name or provider_name(config, environ))
    foreign = known(model) is not None and kind not in ("anthropic", "claude")
    return "" if role.name in config.roles or foreign else first


_EFFORT = {agent.ROLE: "medium"}  # where the settings say nothing
_THINKING = {"haiku": "off", "sonnet": "adaptive", "opus": "adaptive"}


def tuning(config: ModelsConfig, role: Role, spec: Spec) -> Tuning:
    """Return how the model of a task is to work: what the settings say of its role, else its tier, else its id."""
    wanted = _wanted(config, role.name, role.tier, spec.model)
    model = expand(config, wanted)
    tier = next((name for name in TIERS if expand(config, name) == model), "")
    names = [role.name, tier, wanted, model]
    effort: Mapping[str, str] = {**_EFFORT, **config.effort}
    thinking: Mapping[str, str] = {**_THINKING, **config.thinking}
    return Tuning(
        thinking=next((thinking[name] for name in names if name in thinking), ""),
        effort=next((effort[name] for name in names if name in effort), "").replace("default", ""),
        own=next((config.claude.own[name] for name in names if name in config.claude.own), ()),
        cache="1h" if role.name == agent.ROLE and (spec.model in spec.kept or agent.turn_of(spec.id)) else "",
    )


_NEEDED = {
    "offline": ("lumen_tui.providers.offline.provider",),
    "anthropic": ("lumen_tui.providers.vendors.anthropic", "anthropic", "anthropic.resources.messages"),
    "claude": ("lumen_tui.providers.claude_code.provider",),
    "openai": ("lumen_tui.providers.vendors.openai", "openai", "openai.resources.chat"),
}


def kind_of(config: ModelsConfig, provider: str) -> str:
    """Return which of these a provider needs: the API that it speaks; its own name where it is no server."""
    try:
        return endpoint(config, provider, {}).kind
    except ProviderError:
        return provider


def preload(kind: str) -> list[str]:
    """Import what workers of this kind of provider will need; returns what could not be imported.

    A worker imports that itself and says what is missing: here it is no error.
    """
    missing = []
    for name in (*_NEEDED["offline"], *_NEEDED.get(kind, ())):
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    return missing
