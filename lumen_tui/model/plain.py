"""Records without a library, for commands that must start within a few milliseconds.

The annotations of a class are its fields, the values beside them their defaults:

    class Point(Plain):
        x: int = 0
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Plain:
    """One record; nobody changes a field of one that was handed out."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and builtins(self) == builtins(other)

    __hash__ = None  # type: ignore[assignment]  # fields may hold lists and dicts

    def __repr__(self) -> str:
        return f"{type(self).__name__}({builtins(self)})"


def builtins(value: Any) -> Any:
    """Return a record, or what holds some, as dicts and lists; other values as they are."""
    if isinstance(value, Plain):
        return {name: builtins(getattr(value, name)) for name in type(value).__annotations__}
    if isinstance(value, dict):
        return {key: builtins(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [builtins(inner) for inner in value]
    return value
