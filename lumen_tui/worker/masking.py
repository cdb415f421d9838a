"""Secrets taken out of the texts within a JSON value, which stays one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def masked(value: Any, redact: Callable[[str], str]) -> Any:
    """The value with every text in it redacted, names of fields as well."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(key)): masked(inner, redact) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [masked(inner, redact) for inner in value]
    return value
