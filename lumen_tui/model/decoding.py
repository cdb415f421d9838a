"""Decoding of records: every text made safe, a damaged field given its default; and what a decoder may raise."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from lumen_tui.model.patterns import made_on_use
from lumen_tui.model.text import safe_all

# msgspec has errors of its own for wrong JSON and wrong types, but not for wrong bytes and endless brackets
UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


def lazy_decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return a JSON decoder that is made when it is first used: most commands need few of those that are declared."""
    return made_on_use(lambda: msgspec.json.Decoder(kind))


def decode_safe(data: bytes, kind: type[T]) -> T:
    """Decode one JSON record with every text in it made safe. Raises UNDECODABLE where it is none.

    Plain ASCII without an escape cannot hold anything hostile: such a record is decoded directly.
    """
    if data.isascii() and b"\\" not in data and b"\x7f" not in data:
        return msgspec.json.decode(data, type=kind)
    return msgspec.convert(safe_all(msgspec.json.decode(data)), kind)


def must_be_text(line: bytes) -> None:
    """Raise UnicodeDecodeError for bytes that are no UTF-8: a decoder looks into no field that it passes over."""
    if not line.isascii():
        line.decode()


def decode_readable(line: bytes, kind: type[S], **defaults: object) -> S:
    """Decode what can be read of a record, every text made safe; nothing is an error.

    A field that is missing or of a wrong type gets its default; `defaults` has those of the fields without one.
    """
    try:
        return decode_safe(line, kind)
    except UNDECODABLE:
        return convert_readable(decoded(line), kind, **defaults)


def convert_readable(record: Mapping[str, object], kind: type[S], **defaults: object) -> S:
    """Make a record of what can be read in a decoded object, as `decode_readable` does."""
    values = dict(defaults)
    for field in msgspec.structs.fields(kind):
        if field.encode_name in record:
            with contextlib.suppress(msgspec.ValidationError):
                values[field.name] = msgspec.convert(safe_all(record[field.encode_name]), field.type)
    return kind(**values)


def safe_record(record: S) -> S:
    """Return the record with every text in it made safe to show."""
    return msgspec.convert(safe_all(msgspec.to_builtins(record)), type(record))


def decoded(line: bytes) -> dict[str, object]:
    """Decode a JSON object of any fields, with U+FFFD for wrong bytes; return {} for anything else."""
    try:
        value = msgspec.json.decode(line.decode(errors="replace"))
    except UNDECODABLE:
        return {}
    return value if isinstance(value, dict) else {}
