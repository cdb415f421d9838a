"""Secrets found in a text and masked: each is replaced by the name of the rule that knew it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lumen_tui.model.secrets import shapes
from lumen_tui.model.secrets.assignments import assignments
from lumen_tui.model.secrets.rules import Rule, compiled, token_rules
from lumen_tui.model.secrets.screen import MASKED

_DATA = 60  # characters of base64 before it
_BASE64 = re.compile(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/]*")
_STANDS_FOR = re.compile(r"\[masked:|\$[A-Za-z_{]|[<{]")  # a mask, a variable, a blank to be filled in


class Secret(NamedTuple):
    """Where a secret stands in a text, and the rule that knew it."""

    start: int
    end: int
    rule: str


def mask(rule: str) -> str:
    """Return what stands in the place of a secret."""
    return f"{MASKED}{rule}]"


def secrets(text: str) -> list[Secret]:
    """Return the secrets in `text`, in their order; where two overlap, they are one."""
    candidates = sorted(
        (*_tokens(text), *_shapes(text), *_named(text)), key=lambda candidate: (candidate.start, -candidate.end)
    )
    apart: list[Secret] = []
    for secret in candidates:
        if apart and secret.start < apart[-1].end:
            apart[-1] = apart[-1]._replace(end=max(secret.end, apart[-1].end))
        else:
            apart.append(secret)
    return apart


def _tokens(text: str) -> Iterator[Secret]:
    for rule in token_rules():
        if rule.keyword in text:
            for match in compiled(rule).finditer(text):
                if (not rule.weak or _drawn(rule, match[0])) and not _within_data(text, match.start()):
                    yield Secret(*match.span(), rule.name)


def _within_data(text: str, place: int) -> bool:
    """Whether it stands in the middle of a long piece of base64, as a picture is: there every beginning comes up."""
    before = text[max(0, place - _DATA) : place]
    return len(before) == _DATA and before[-1] in "+/" and _BASE64.fullmatch(before) is not None


def _drawn(rule: Rule, token: str) -> bool:
    """Return whether a token with a short beginning looks drawn: words joined by dashes do not."""
    tail = token[len(rule.template.partition("{")[0]) :]
    return any(c.isdigit() for c in tail) and any(c.isalpha() for c in tail) and len(set(tail)) > 7


def _shapes(text: str) -> Iterator[Secret]:
    for shape in shapes.SHAPES:
        if any(keyword in text for keyword in shape.keywords):
            for match in shapes.compiled(shape).finditer(text):
                group = "secret" if "secret" in match.re.groupindex else 0
                if not _STANDS_FOR.match(match[group]) and not _published(shape, text, match.start()):
                    yield Secret(*match.span(group), shape.name)
    yield from (Secret(*place, "private-key") for place in shapes.ends(text))
    yield from (Secret(*place, "private-key-body") for place in shapes.bodies(text))


def _published(shape: shapes.Shape, text: str, place: int) -> bool:
    return shape.name == "private-key-body" and shapes.is_public(text, place)


def _named(text: str) -> Iterator[Secret]:
    for assignment in assignments(text):
        if not text.startswith(MASKED, assignment.start):
            yield Secret(*assignment)


def masked(text: str, count: Callable[[str, str], None] | None = None) -> str:
    """Return the text without its secrets; `count` is told the rule and the secret of each."""
    parts, end = [], 0
    for secret in secrets(text):
        if count is not None:
            count(secret.rule, text[secret.start : secret.end])
        parts += [text[end : secret.start], mask(secret.rule)]
        end = secret.end
    return "".join((*parts, text[end:])) if parts else text
