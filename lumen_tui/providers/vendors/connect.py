"""The wire to a target: which API its endpoint speaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lumen_tui.model.modelsconfig import ModelsConfig
from lumen_tui.providers.vendors.endpoints import Target
from lumen_tui.providers.vendors.wire import ModelClient


def connect(
    target: Target, config: ModelsConfig, environ: Mapping[str, str], now: Callable[[], float]
) -> ModelClient:  # fmt: skip
    """Nothing is sent yet. ProviderError where a key is missing."""
    if target.endpoint.kind == "openai":
        from lumen_tui.providers.vendors.openai import OpenAIClient

        return OpenAIClient(target, config, environ, now)
    from lumen_tui.providers.vendors.anthropic import AnthropicClient

    return AnthropicClient(target, config, environ, now)
