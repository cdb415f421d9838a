"""YAML read without aliases, tags and deep nesting, which a few lines of a hostile file make gigabytes of.

Scalars are those of YAML 1.2's core schema, as LumenFlow's own library reads them: `yes` is a text, and so is a date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lumen_tui.model.patterns import lazy_re

_DEEPEST = 20
_MOST_EVENTS = 50_000
_INT = lazy_re(r"[-+]?[0-9]{1,18}", re.ASCII)
_FLOAT = lazy_re(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class BadDocument(ValueError):
    """A document that is not read; its text says why, `line` where, counted from 1 (0: the whole)."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


def table(text: str) -> dict[str, object]:
    """Return the table in a document. Raise BadDocument."""
    import yaml  # takes 15 ms, which few commands need

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = _built(yaml.parse(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        reason = ", ".join(filter(None, (error.context, error.problem))) or " ".join(str(error).split())
        raise BadDocument(reason[:200], mark.line + 1 if mark else 0) from error
    except (yaml.YAMLError, RecursionError) as error:
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
        kind, line = type(event).__name__, _line_of(event)
        documents += kind == "DocumentStartEvent"
        if documents > 1:
            raise BadDocument("it holds several documents", line)
        if number > _MOST_EVENTS or len(stack) > _DEEPEST:
            raise BadDocument("it is nested too deeply or has too many entries", line)
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            raise BadDocument("anchors and aliases are not read", line)
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            stack.append(_Open(is_table=kind.startswith("Mapping")))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            whole = stack.pop().value()
            stack[-1].items.append(whole)
        elif kind == "ScalarEvent":
            stack[-1].items.append(_scalar(*(getattr(event, name) for name in ("value", "tag", "implicit"))))
    return stack[0].items[0] if stack[0].items else None


def _line_of(event: object) -> int:
    mark = getattr(event, "start_mark", None)
    return mark.line + 1 if mark is not None else 0


def _scalar(value: str, tag: str | None, implicit: tuple[bool, bool]) -> object:
    """Return a scalar by the core schema; one that is quoted, or has the tag of a text, is a text."""
    if tag not in (None, "!", "tag:yaml.org,2002:str"):
        raise BadDocument(f"the tag {tag} is not read")
    if not implicit[0] or tag:
        return value
    if value in WORDS:
        return WORDS[value]
    if _INT.fullmatch(value):
        return int(value)
    return float(value) if _FLOAT.fullmatch(value) else value
