"""What a decoder raises for a record that cannot be read."""

from __future__ import annotations

from typing import Any

import msgspec

# msgspec has errors of its own for wrong JSON and wrong types, but not for wrong bytes and endless brackets
UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def decoded(line: bytes) -> dict[str, Any]:
    """An object whatever its fields are, with U+FFFD for wrong bytes; an empty one for what is no object at all."""
    try:
        found = msgspec.json.decode(line.decode(errors="replace"))
    except UNDECODABLE:
        return {}
    return found if isinstance(found, dict) else {}
