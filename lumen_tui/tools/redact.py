"""Secrets are taken out of every line before it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

MASK = "[redacted]"
UNSEEN = (
    "a person would have to be asked, and would not see all of this: a private key, or the password in an address, is "
    "masked. Leave it out"
)
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$|S$)", re.IGNORECASE)
_SHORTEST = 8  # shorter values are words, and masking them would spoil the text
_SHAPES = re.compile(
    r"sk-[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}|\bgsk_[A-Za-z0-9]{20,}|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_BEARER = re.compile(r"(\bBearer\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,100}:)[^\s/@]{3,200}(?=@)", re.IGNORECASE)

_BLOCK = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_PLAIN = re.compile(r"[A-Za-z0-9._~%+=,-]*")


def hides(text: str) -> bool:
    """Whether masking could take out of a text what is no key: a person who is asked would not see it.

    Most shapes of keys hold letters and digits only. Between two lines, and before an @, there could be a command.
    """
    if _BLOCK.search(text):
        return True
    return any(not _PLAIN.fullmatch(found[0].removeprefix(found[1])) for found in _IN_URL.finditer(text))


def secret_values(environ: Mapping[str, str]) -> list[str]:
    """The values of variables whose names say that they are secret, longest first."""
    found = {value for name, value in environ.items() if _SECRET_NAME.search(name) and len(value) >= _SHORTEST}
    return sorted(found, key=len, reverse=True)


def redactor(environ: Mapping[str, str]) -> Callable[[str], str]:
    """A function that masks the secret values in `environ` and the common shapes of keys."""
    values = secret_values(environ)

    def redact(text: str) -> str:
        for value in values:
            text = text.replace(value, MASK)
        text = _SHAPES.sub(MASK, text)
        return _IN_URL.sub(rf"\1{MASK}", _BEARER.sub(rf"\1{MASK}", text))

    return redact
