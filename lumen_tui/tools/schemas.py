"""The arguments of tools as JSON schema."""

from __future__ import annotations

from typing import Any

import msgspec


def schema_of(arguments: Any) -> dict[str, Any]:
    """The JSON schema of a tool's arguments, without references."""
    _, components = msgspec.json.schema_components([arguments], ref_template="{name}")
    schema: dict[str, Any] = _resolved(components[arguments.__name__], components)
    return schema


def _resolved(schema: Any, components: dict[str, Any]) -> Any:
    """A schema with what it refers to in place, and without the titles that name our types."""
    if isinstance(schema, list):
        return [_resolved(inner, components) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(components[schema["$ref"]], components)
    named = {key: inner for key, inner in schema.items() if key != "title" or not isinstance(inner, str)}
    return {key: _resolved(inner, components) for key, inner in named.items()}
