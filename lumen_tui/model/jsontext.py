"""JSON written and read without the package that does it, for commands that must start fast."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Raw = dict[str, Any]


def quote(text: str) -> str:
    """Return a JSON string in ASCII; most texts need no more than quotation marks, and no C module to be loaded."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    try:
        from _json import encode_basestring_ascii
    except ImportError:  # an interpreter without the C module
        from json.encoder import py_encode_basestring_ascii as encode_basestring_ascii
    return encode_basestring_ascii(text)


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


def _finite(number: str) -> float:
    """Return a finite float. Raise ValueError: 1e400 would be infinity, which no other reader takes."""
    value = float(number)
    if value - value != 0.0:
        raise ValueError(f"{number[:20]} is out of range")
    return value


class _Rules:
    """The attributes that the C scanner reads from a decoder."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = staticmethod(_finite)
    parse_int = int


_scanner: list[Callable[[str, int], tuple[Any, int]]] = []  # made when a record is decoded


def _scan(text: str, start: int) -> tuple[Any, int]:
    if not _scanner:
        from _json import make_scanner

        _scanner.append(make_scanner(_Rules()))  # type: ignore[arg-type]  # typeshed knows the class alone
    return _scanner[0](text, start)


def decode(data: bytes) -> Raw | None:
    """Decode a JSON object; return None for what msgspec's decoders would refuse."""
    try:
        text = data.strip().decode()
        record, end = _scan(text, 0)
        if "\\ud" in text or "\\uD" in text:
            _refuse_lone_surrogates(record)
    except (ValueError, StopIteration, RecursionError, SystemError):  # the last: `json` itself is not loaded
        return None
    return record if isinstance(record, dict) and end == len(text) else None


def _refuse_lone_surrogates(value: object) -> None:
    """Raise UnicodeEncodeError for half a character, which can be written nowhere: no file, database or terminal."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, dict):
        for key, inner in value.items():
            key.encode()
            _refuse_lone_surrogates(inner)
    elif isinstance(value, list):
        for inner in value:
            _refuse_lone_surrogates(inner)


def text_of(record: Mapping[str, object], key: str) -> str:
    """Return the text under a key; empty where there is none."""
    value = record.get(key)
    return value if isinstance(value, str) else ""


def table_of(record: Mapping[str, object], key: str) -> Raw:
    """Return the table under a key; empty where there is none."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}
