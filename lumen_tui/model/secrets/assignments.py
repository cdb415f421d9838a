"""Values that are secret because of the name before them: `password=…`, `"api_key": "…"`, `DD_APP_KEY := …`.

What is plainly something else stays: a variable, a path, an address, a call, a word, a placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.secrets.rules import UUID, Named, named_rules

_QUOTE = r"(?:\\{0,3}[\"'`]|&quot;|%22)"
_LOOKED_AT = 500  # characters of a value that it is judged by
_NAME = r"(?<![A-Za-z0-9_.\-])(?P<name>[A-Za-z0-9_.\-]{2,80}+)"
_VALUE = r"(?:[^\s\"'`<>\\&]|&(?!\w+=|quot;))"
_ASSIGNED = lazy_re(
    rf"{_NAME}(?P<close>{_QUOTE}?\]?)[ \t]{{0,8}}(?P<sign>:{{1,3}}=|=>|[?.+]=|\|\||={{1,2}}|:(?!:)|%3D|,|>)[ \t]{{0,8}}"
    rf"(?P<open>[brfu@$]?{_QUOTE}|)(?P<value>{_VALUE}{{6,{_LOOKED_AT}}})"
)
_OPTION = lazy_re(
    rf"(?<!\S)(?=--){_NAME}(?P<close>)(?P<sign>[ \t]+)(?P<open>{_QUOTE}|)(?P<value>{_VALUE}{{6,{_LOOKED_AT}}})"
)
_REST = lazy_re(f"{_VALUE}*")
_PASSWORD = lazy_re(r"passw(?:or)?d|passwort|passphrase|passcode|pwd|pswd|(?:^|_)pass(?=_|$)|userpass")
_KEY = lazy_re(
    r"secret|token|credential|(?:api|access|private|account|auth|signing|encryption|encrypt|master|shared|service|app|"
    r"application|admin|deploy|license|licence|storage|webhook|session|cookie|hmac|jwt|crypto|consumer|client|bot|user)"
    r"_?keys?|apikey"
)
_ENDS = lazy_re(  # what may follow the telling word in a name
    r"(?:_?(?:value|val|prod|production|dev|test|live|staging|b64|base64|plain|plaintext|raw|new|old|current|env|"
    r"default|main|primary|secondary|str|string|text|key|token|secret|\d{1,3}))*"
)
_MAY_TELL = lazy_re(r"token|key|secret|pass|auth|cred|pat(?:_|$)|pwd|hmac|license")
_OTHER_NAME = lazy_re(
    r"continuation|page|next|cursor|csrf|xsrf|sync|commit|hash(?!icorp)|digest|checksum|etag|cache|request|(?<!dyna)trace|idempoten|"
    r"public|primary|foreign|sort|partition|span|fingerprint|cancel|sha\d"
)
_NO_VALUE = lazy_re(
    r"[$%@#*<{(\[|]|\.{0,2}/|~/|[a-z][a-z0-9+.-]*://|[a-z]:\\|\.\.\.|…|-{2,}[a-z]|[&*]{2}", re.IGNORECASE
)
_CODE = lazy_re(r"[(){}\[\]]|\$\{|::|->|\|\|")
_CHAIN = lazy_re(r"[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+")
_DIGEST = lazy_re(rf"(?:[0-9a-fA-F]{{7,128}}|{UUID})")
_VERSION = lazy_re(r"v?\d+(?:[.\-:/T]\d+)+Z?|\d+(?:\.\d+)?(?:[a-zA-Z]{1,3})?")
_WORDS = frozenset(  # what is where a password would
    (
        "password", "passwd", "required", "optional", "string", "secret", "hidden", "invalid", "incorrect", "missing",
        "unknown", "expired", "disabled", "enabled", "undefined", "example", "placeholder", "redacted", "masked",
        "changed", "accepted", "failed", "rejected", "prompt", "confirm", "nothing", "default", "integer", "boolean",
        "object", "username",
    )
)  # fmt: skip
_TAIL = ",;)]}.:"


class Assigned(NamedTuple):
    """A secret value and where it is."""

    start: int
    end: int
    rule: str


def assignments(text: str) -> Iterator[Assigned]:
    """Yield the secret values in `text` that a name gives away."""
    for form in (_ASSIGNED, _OPTION) if "--" in text else (_ASSIGNED,):
        place = 0
        while match := form.search(text, place):
            place = match.end("name") + 1
            if secret := _judged(text, match):
                yield secret
                place = secret.end


def _judged(text: str, match: re.Match[str]) -> Assigned | None:
    name = re.sub(r"[-.]", "_", match["name"].lower()).strip("_")
    if not _MAY_TELL.search(name) or not _joined(match):
        return None
    start, end = match.span("value")
    quoted = match["open"][-1:] in ("'", '"', "`")
    if quoted:
        end = _closing(text, start, match["open"][-1])
    value = text[start : min(end, start + _LOOKED_AT)]
    rule = _rule(name, value if quoted else value.rstrip(_TAIL), match)
    if not rule:
        return None
    if not quoted:
        end = _REST.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing at least
    return Assigned(start, start + len(text[start:end] if quoted else text[start:end].rstrip(_TAIL)), rule)


def _joined(match: re.Match[str]) -> bool:
    """Return whether the sign gives the value to the name: a comma separates lists of words too."""
    if match["sign"] != ",":
        return True
    value = match["value"]
    return bool(match["close"] and match["open"]) and "_" in match["name"] and not value.isalpha()


def _closing(text: str, start: int, quote: str) -> int:
    """Return where a quoted value ends: at its quote, or with the line."""
    line = text.find("\n", start)
    end = text.find(quote, start, line if line >= 0 else len(text))
    if end < 0:
        return line if line >= 0 else len(text)
    while end > start and text[end - 1] == "\\":
        end -= 1
    return end


def _rule(name: str, value: str, match: re.Match[str]) -> str:
    for rule in _vendors(name):
        if rule.form.fullmatch(value) and _random(value):
            return rule.name
    if _told(_PASSWORD, name):
        return "password" if _is_password(name, value, match) else ""
    if _told(_KEY, name) and not _OTHER_NAME.search(name):
        return "secret" if _is_key(value, match) else ""
    return ""


@lru_cache(2000)
def _vendors(name: str) -> tuple[Named, ...]:
    """Return the rules of the table for a name."""
    return tuple(rule for rule in named_rules() if any(_holds(name, word) for word in rule.words))


def _holds(name: str, word: str) -> bool:
    if len(word) >= 5 and word[-1] != "_":
        return word in name
    return f"_{word}" in f"_{name}_" if word[-1] == "_" else f"_{word}_" in f"_{name}_" or name.startswith(word)


def _told(words: re.Pattern[str], name: str) -> bool:
    """Return whether the name ends with one of the words: `token` does, `token_count` does not."""
    ends = [match.end() for match in words.finditer(name)]
    return bool(ends) and _ENDS.fullmatch(name[ends[-1] :]) is not None


def _is_password(name: str, value: str, match: re.Match[str]) -> bool:
    if _NO_VALUE.match(value) or value.lower() in _WORDS or value.lower().strip("_") == name:
        return False
    if match["open"]:
        return len(set(value)) > 2 and not value.endswith((": ", ":", "?"))
    if _CODE.search(value) or _CHAIN.fullmatch(value) or (name == "pass" and _is_report(value, match)):
        return False
    if not value.replace("_", "").isalpha():
        return value.isdigit() or (len(set(value)) > 2 and not _VERSION.fullmatch(value))
    return match["sign"] == "=" and "_" not in value and _alone(match)


_PIECES = lazy_re(r"[/_.:+,=@%\-]+")
_WRITTEN = lazy_re(r"(?:[a-z]+|[A-Z]+|(?:[A-Z][a-z]+)+)\d{0,3}|\d+[a-z]{0,4}|")  # a piece of a written value
_SHORT = lazy_re(r"\d+[a-z]{0,4}|[A-Za-z]{1,3}\d{1,3}")  # such a value in one piece: a count, a stage
_WHO = lazy_re(r"\b(?:user\w*|login|account|e?mail|wi-?fi|wlan|ssid|host|server|db|database|admin|root)\b", re.I)
_AMONG_WORDS = lazy_re(r"[\w)\]%][ \t]+$|^-{2,3} $")
_COUNTED = lazy_re(r"[ \t]*[,;(]|[ \t]+(?:\w+[ \t]+)?fail", re.I)


def _is_report(value: str, match: re.Match[str]) -> bool:
    """Return whether `pass:` is the verb or noun of a report, and what follows written rather than chosen.

    `Targeted suites pass: tests/tui, tests/worker` is one, and so is `PASS: parse/with_args`.
    """
    if match["sign"] != ":" or match.end("name") + 1 == match.start("value"):
        return False
    text = match.string
    before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    if _WHO.search(before):
        return False
    reports = _AMONG_WORDS.search(before) or "/" in value or _COUNTED.match(text, match.end("value"))
    pieces = _PIECES.split(value.rstrip(_TAIL))
    written = all(map(_WRITTEN.fullmatch, pieces)) if len(pieces) > 1 else _SHORT.fullmatch(pieces[0])
    return bool(reports and written)


def _alone(match: re.Match[str]) -> bool:
    """Return whether `name=value` is as in a setting or an address, not among the arguments of a call."""
    if match.end("name") + 1 != match.start("value"):
        return False
    text = match.string
    before, after = text[max(0, match.start() - 2) : match.start()], text[match.end("value") : match.end("value") + 1]
    return not before.endswith((", ", "(")) and match["value"][-1] not in ",)" and after in ("", " ", "\n", "&", "\\")


def _is_key(value: str, match: re.Match[str]) -> bool:
    if len(value) < 8 or _NO_VALUE.match(value) or _VERSION.fullmatch(value):
        return False
    if _CHAIN.fullmatch(value) and len(max(value.split("."), key=len)) < _LONG:
        return False
    if " " in value or (not match["open"] and _CODE.search(value)) or "://" in value:
        return False
    return _random(value)


def _random(value: str) -> bool:
    """Whether a value was drawn rather than written: letters and digits in one piece, or mixed case in a long one."""
    if _DIGEST.fullmatch(value):
        return any(c.isdigit() for c in value) and len(set(value)) > 5
    pieces = [piece for piece in re.split(r"[_.:/\-]", value) if piece and not _CAMEL.fullmatch(piece)]
    mixed = [p for p in pieces if not p.isalpha() and not p.isdigit() and not _ORDINAL.fullmatch(p)]
    if any(len(piece) >= 6 for piece in mixed) or (mixed and len(value) >= 16 and len(mixed) * 2 >= len(pieces)):
        return len(set(value)) > 5
    longest = max(pieces, key=len, default="")
    return len(longest) >= 20 and not longest.islower() and not longest.isupper() and len(set(longest)) > 9


_CAMEL = lazy_re(r"(?:[A-Z][a-z]{2,15}){2,}")  # ClientRequestTokenList
_LONG = 20  # characters, which few names have
_ORDINAL = lazy_re(r"[A-Za-z]{1,12}\d{1,3}|\d{1,4}[A-Za-z]{1,12}")  # utf8, sha256, 2nd, 30d
