"""JSON written by hand, for commands that must start without the package that does it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    from _json import encode_basestring_ascii as quote
except ImportError:  # an interpreter without the C module
    from json.encoder import py_encode_basestring_ascii as quote


def dumps(value: Any) -> str:
    """Return one JSON value. Numbers that JSON does not know (not finite) become null."""
    if isinstance(value, str):
        return quote(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if value - value == 0.0 else "null"
    if isinstance(value, dict):
        return "{" + ",".join([f"{quote(key)}:{dumps(inner)}" for key, inner in value.items()]) + "}"
    return "[" + ",".join([dumps(inner) for inner in value]) + "]"
