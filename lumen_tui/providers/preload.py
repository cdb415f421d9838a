"""What a zygote imports ahead, so that no worker has to: the vendor SDK of a provider takes seconds to load."""

from __future__ import annotations

import importlib

from lumen_tui.model.config import ModelsConfig
from lumen_tui.providers.base import ProviderError
from lumen_tui.providers.vendors.endpoints import endpoint

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
