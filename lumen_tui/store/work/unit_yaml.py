"""YAML documents of work units, which are written as lines of JSON values."""

from __future__ import annotations

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.foreign import Raw
from lumen_tui.model.patterns import lazy_re
from lumen_tui.storage.safe_yaml import WORDS, BadDocument, table

LARGEST = 256 * 1024  # bytes of a document
_LINE = lazy_re(r"([A-Za-z_][A-Za-z0-9_]*): (.+)")
_PLAIN = lazy_re(r"[A-Za-z][A-Za-z0-9_-]*")
_RESERVED = frozenset((*WORDS, "yes", "no", "on", "off", "y", "n"))


def read(data: bytes) -> Raw:
    """Return the table in a document. Raise BadDocument."""
    if len(data) > LARGEST:
        raise BadDocument(f"it is larger than {LARGEST // 1024} KiB")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise BadDocument(f"it is not UTF-8 (byte {error.start})") from error
    return _own(text) or table(text)


def write(document: Raw) -> bytes:
    """Return the document with a line for each key: a plain word, or a JSON value, which is YAML as well."""
    lines = [f"{key}: {_value(value)}\n" for key, value in document.items()]
    return "".join(lines).encode()


def _value(value: object) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    text = msgspec.json.encode(value).decode()
    return "".join(character if _allowed(character) else f"\\u{ord(character):04x}" for character in text)


def _allowed(character: str) -> bool:
    """Return whether YAML takes the character as it is."""
    return not ("\x7f" <= character <= "\x9f" or character in "\u2028\u2029\ufeff\ufffe\uffff")


def _own(text: str) -> Raw | None:
    """Return the table in a document of the form that `write` gives; None for every other."""
    document: Raw = {}
    for line in text.rstrip("\n").split("\n"):
        match = _LINE.fullmatch(line)
        if match is None or match[1] in document:
            return None
        if _PLAIN.fullmatch(match[2]) and match[2].lower() not in _RESERVED:
            document[match[1]] = match[2]
            continue
        try:
            document[match[1]] = msgspec.json.decode(match[2])
        except UNDECODABLE:
            return None
    return document or None
