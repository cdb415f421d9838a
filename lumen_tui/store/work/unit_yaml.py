"""YAML documents of work units: read without aliases, tags and deep nesting, and written as lines of JSON values.

Scalars are those of YAML 1.2's core schema, as LumenFlow's own library reads them: `yes` is a text, and so is a date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.foreign import Raw

LARGEST = 256 * 1024  # bytes of a document
_DEEPEST = 20
_MOST_EVENTS = 50_000
_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*): (.+)")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_INT = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_RESERVED = frozenset((*_WORDS, "yes", "no", "on", "off", "y", "n"))


class BadDocument(ValueError):
    """A document that is not read; its text says why."""


class NoYaml(BadDocument):
    """The optional package that reads YAML is not installed."""


def read(data: bytes) -> Raw:
    """Return the table in a document. Raise BadDocument, NoYaml where a package is missing for it."""
    if len(data) > LARGEST:
        raise BadDocument(f"it is larger than {LARGEST // 1024} KiB")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise BadDocument(f"it is not UTF-8 (byte {error.start})") from error
    return _own(text) or _parsed(text)


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


def _parsed(text: str) -> Raw:
    try:
        import yaml
    except ImportError as error:
        raise NoYaml('no YAML reader is installed: pip install "lumen-tui[yaml]"') from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = _built(yaml.parse(text, Loader=loader))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise BadDocument(" ".join(str(error).split())[:200]) from error
    if not isinstance(value, dict):
        raise BadDocument("it is no table of keys")
    return value


class _Open:
    """A list or table that is being filled."""

    def __init__(self, *, is_table: bool) -> None:
        self.items: list[object] = []
        self.is_table = is_table

    def value(self) -> object:
        if not self.is_table:
            return self.items
        keys = self.items[::2]
        if not all(isinstance(key, str | int | float | bool | None) for key in keys):
            raise BadDocument("a key is no text")
        names = [key if isinstance(key, str) else str(key) for key in keys]
        if len(set(names)) < len(names):
            raise BadDocument("a key is there twice")
        return dict(zip(names, self.items[1::2], strict=True))


def _built(events: Iterable[object]) -> object:
    """Return the value that the events of one document build. Aliases are refused: a few make gigabytes."""
    stack: list[_Open] = [_Open(is_table=False)]
    documents = 0
    for number, event in enumerate(events):
        kind = type(event).__name__
        documents += kind == "DocumentStartEvent"
        if documents > 1:
            raise BadDocument("it holds several documents")
        if number > _MOST_EVENTS or len(stack) > _DEEPEST:
            raise BadDocument("it is nested too deeply or has too many entries")
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            raise BadDocument("anchors and aliases are not read")
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            stack.append(_Open(is_table=kind.startswith("Mapping")))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            whole = stack.pop().value()
            stack[-1].items.append(whole)
        elif kind == "ScalarEvent":
            stack[-1].items.append(_scalar(*(getattr(event, name) for name in ("value", "tag", "implicit"))))
    return stack[0].items[0] if stack[0].items else None


def _scalar(value: str, tag: str | None, implicit: tuple[bool, bool]) -> object:
    """Return a scalar by the core schema; one that is quoted, or has the tag of a text, is a text."""
    if tag not in (None, "!", "tag:yaml.org,2002:str"):
        raise BadDocument(f"the tag {tag} is not read")
    if not implicit[0] or tag:
        return value
    if value in _WORDS:
        return _WORDS[value]
    if _INT.fullmatch(value):
        return int(value)
    return float(value) if _FLOAT.fullmatch(value) else value
