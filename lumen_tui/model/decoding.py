"""Decoding of damaged records, and the errors that a decoder raises for them."""

from __future__ import annotations

import contextlib
from typing import Any, TypeVar

import msgspec

# msgspec has errors of its own for wrong JSON and wrong types, but not for wrong bytes and endless brackets
UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


S = TypeVar("S", bound=msgspec.Struct)


def readable(line: bytes, kind: type[S], **defaults: Any) -> S:
    """Decode what can be read of a record: a field that is missing or of a wrong type gets its default.

    `defaults` has those of the fields that have none of their own.
    """
    record, values = decoded(line), dict(defaults)
    for field in msgspec.structs.fields(kind):
        if field.encode_name in record:
            with contextlib.suppress(msgspec.ValidationError):
                values[field.name] = msgspec.convert(record[field.encode_name], field.type)
    return kind(**values)


def decoded(line: bytes) -> dict[str, Any]:
    """Decode a JSON object of any fields, with U+FFFD for wrong bytes; return {} for anything else."""
    try:
        value = msgspec.json.decode(line.decode(errors="replace"))
    except UNDECODABLE:
        return {}
    return value if isinstance(value, dict) else {}
