"""Secrets found in a text and masked: each is replaced by the name of the rule that knew it.

Beside tokens and assignments there are shapes with more to them than a beginning and a length: private keys, headers,
addresses, options of commands. The group `secret` of a shape is what is masked; without one it is all of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.secrets import MASKED
from lumen_tui.model.secrets.assignments import assignments
from lumen_tui.model.secrets.rules import BEGINS, Rule, compiled, token_rules

_LINE = r"(?:[A-Za-z0-9+/]{16,}={0,2}|[A-Za-z0-9+/]{4,}={1,2})"
_GAP = r"(?:\s|\\[nrt]|[\"'+,])"
_WORD = r"(?:[A-Z]?[a-z]{1,15}\d{0,5}|\d{1,6})"  # of a name whose words are between dashes
_KIND = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_SHAPES = (
    # name, keywords of which the text holds one, pattern
    ("private-key", ("PRIVATE KEY",),
     rf"-----BEGIN {_KIND}.*?(?:-----END {_KIND}|\Z)"),
    ("putty-private-key", ("Private-Lines",), rf"Private-Lines: \d+(?P<secret>(?:{_GAP}+{_LINE}){{1,200}})"),
    ("private-key-base64", ("LS0tLS1CRUdJTi",), r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]{40,}"),
    ("private-key-body", ("MII",),
     rf"(?<![A-Za-z0-9+/])MII[A-Za-z0-9+/]{{57,}}={{0,2}}(?:{_GAP}{{1,4}}{_LINE}(?=\s|\\n|\"|$))*"),
    ("openssh-key-body", ("b3BlbnNzaC1rZXktdjE",),
     rf"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{{20,}}={{0,2}}(?:\s+{_LINE}$)*"),
    ("json-web-token", ("eyJ",), r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{6,}"),
    ("json-web-token", ("eyJ",), r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.(?:[A-Za-z0-9_-]*\.){3}[A-Za-z0-9_-]{8,}"),
    ("bearer-token", ("earer", "EARER"),
     r"(?i)\bBearer[ \t]{1,4}(?P<secret>(?=\S{0,200}[\d._~+/=-])[A-Za-z0-9._~+/=-]{8,})"),
    ("authorization", ("uthorization", "UTHORIZATION"),
     r"(?i)\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:basic|token|apikey|key|bot|negotiate|digest)?[ \t]{1,4}"
     r"(?P<secret>[A-Za-z0-9._~+/=-]{8,})"),
    ("basic-auth", ("Basic ", "basic "),
     r"\b[Bb]asic (?P<secret>(?=[A-Za-z]*[0-9A-Z])[A-Za-z0-9+/]{14,}={0,2})(?![A-Za-z0-9+/=])"),
    ("url-password", ("://",),
     r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,100}:(?P<secret>[^\s/@]{3,200})(?=@)"),
    ("netrc-password", ("login",), r"\blogin\s+\S{1,100}\s+password\s+(?P<secret>\S{3,})"),
    ("user-password", ("curl", "wget"),
     r"(?:\s-u|--user|--proxy-user)[ =]{1,3}[\"']?[^\s:\"'$]{0,64}[\"']?:[\"']?(?P<secret>[^\s\"'$]{4,})"),
    ("mysql-password", ("mysql", "mariadb"),
     r"\b(?:mysql|mariadb)\w*\b[^\n|;]{0,200}?\s-p(?P<secret>[^\s\-$'\"][^\s\"'$]{5,})"),
    ("sql-password", ("DENTIFIED", "dentified"),
     r"(?i)\bidentified\s+(?:with\s+\S+\s+)?by\s+[\"'](?P<secret>[^\"'\n]{4,})"),
    ("azure-signature", ("sig=",), r"[?&;]sig=(?P<secret>[A-Za-z0-9%+/]{40,}(?:%3[Dd]|=){0,2})"),
    ("zapier-webhook", ("hooks.zapier.com",), r"hooks\.zapier\.com/hooks/catch/(?P<secret>\d{4,}/[a-z0-9]{6,})"),
    ("api-key", ("sk-",),
     BEGINS + rf"sk-(?!(?:{_WORD}[_-])+{_WORD}(?![A-Za-z0-9_-]))(?=[A-Za-z0-9_-]{{0,200}}(?:\d|[A-Za-z]{{16}}))"
     r"[A-Za-z0-9_-]{16,}"),
    ("npm-auth", ("_auth",), r"(?<![A-Za-z0-9_])_auth(?:Token)?\s{0,2}=\s{0,2}[\"']?(?P<secret>[A-Za-z0-9+/=_.-]{8,})"),
)  # fmt: skip
# One full line of a key's body, as a piece of the file shows it: 64 characters, or 70, that are no digest and no path.
_BODY = lazy_re(r"(?<![A-Za-z0-9+/=_.\-])(?<!sha384-)[A-Za-z0-9+/]{64}(?:[A-Za-z0-9+/]{6})?(?![A-Za-z0-9+/=_.\-])")


_DRAWN = 28  # different characters in 64: a path or a text has fewer


class Shape(NamedTuple):
    """One of the shapes."""

    name: str
    keywords: tuple[str, ...]
    text: str


SHAPES = tuple(Shape(*row) for row in _SHAPES)


@lru_cache(None)
def _patterns(shape: Shape) -> re.Pattern[str]:
    """Return where a secret of this shape is."""
    return re.compile(shape.text, re.DOTALL | re.MULTILINE)


def bodies(text: str) -> Iterator[tuple[int, int]]:
    """Yield the lines of a private key without the lines around them."""
    for match in _BODY.finditer(text):
        letters = match[0]
        mixed = any(c.isdigit() for c in letters) and not letters.isupper() and not letters.islower()
        if mixed and len(set(letters)) > _DRAWN and not is_public(text, match.start()):
            yield match.span()


_BEGIN = "-----BEGIN "


def is_public(text: str, place: int) -> bool:
    """Return whether a line of base64 belongs to a certificate, a public key or a signature."""
    begun = text.rfind(_BEGIN, 0, place)
    return begun >= 0 and "PRIVATE" not in text[begun : begun + 60] and text.find("-----END", begun, place) < 0


_END = lazy_re(f"-----END {_KIND}")
_KEY_LINE = lazy_re(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{4,}={0,2}")
_BETWEEN = lazy_re(rf"{_GAP}{{1,6}}")
_LONGEST_KEY = 20_000  # characters


def ends(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ends of private keys whose beginning was cut off."""
    begun = 0
    for match in _END.finditer(text) if "PRIVATE KEY" in text else ():
        start = max(begun, match.start() - _LONGEST_KEY)
        if "-----BEGIN" not in text[start : match.start()]:
            yield _body_start(text, start, match.start()), match.end()
        begun = match.end()


def _body_start(text: str, start: int, end: int) -> int:
    """Return where the lines of a key begin that go on up to `end`; the last of them may be short."""
    least = 4
    for line in reversed(list(_KEY_LINE.finditer(text, start, end))):
        if len(line[0]) < least or not _BETWEEN.fullmatch(text, line.end(), end):
            break
        end, least = line.start(), 16
    return end


_DATA = 60  # characters of base64 before it
_BASE64 = lazy_re(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/]*")
_STANDS_FOR = lazy_re(r"\[masked:|\$[A-Za-z_{]|[<{]")  # a mask, a variable, a blank to be filled in


class Secret(NamedTuple):
    """Where a secret is in a text, and the rule that knew it."""

    start: int
    end: int
    rule: str


def mask(rule: str) -> str:
    """Return what is in the place of a secret."""
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
    """Whether it is in the middle of a long piece of base64, as a picture is: there every beginning comes up."""
    before = text[max(0, place - _DATA) : place]
    return len(before) == _DATA and before[-1] in "+/" and _BASE64.fullmatch(before) is not None


def _drawn(rule: Rule, token: str) -> bool:
    """Return whether a token with a short beginning looks drawn: words joined by dashes do not."""
    tail = token[len(rule.template.partition("{")[0]) :]
    return any(c.isdigit() for c in tail) and any(c.isalpha() for c in tail) and len(set(tail)) > 7


def _shapes(text: str) -> Iterator[Secret]:
    for shape in SHAPES:
        if any(keyword in text for keyword in shape.keywords):
            for match in _patterns(shape).finditer(text):
                group = "secret" if "secret" in match.re.groupindex else 0
                if not _STANDS_FOR.match(match[group]) and not _published(shape, text, match.start()):
                    yield Secret(*match.span(group), shape.name)
    yield from (Secret(*place, "private-key") for place in ends(text))
    yield from (Secret(*place, "private-key-body") for place in bodies(text))


def _published(shape: Shape, text: str, place: int) -> bool:
    return shape.name == "private-key-body" and is_public(text, place)


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
