"""Secrets are masked in text before a model, a person or a file gets it.

Masked are the values of secret variables in a worker's environment, and known shapes of keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.secrets import MASKED
from lumen_tui.model.secrets.redaction import redact

MASK = f"{MASKED}environment]"
UNSEEN = (
    "a person would have to be asked, and would not see all of this: a private key, or the password in an address, is "
    "masked. Leave it out"
)
_SECRET_NAME = lazy_re(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$|S$)", re.IGNORECASE)
_SHORTEST = 8  # shorter values are words, and masking them would spoil the text
_PLAIN = lazy_re(r"[A-Za-z0-9._~%+=,-]*|[A-Za-z0-9+/=]*")


def hides(text: str) -> bool:
    """Return whether masking could hide more than a key from a person who is asked.

    Most shapes of keys hold letters and digits only. Between two lines, and before an @, there could be a command.
    """
    from lumen_tui.model.secrets.masking import secrets  # the table, which most commands do without

    return any(not _PLAIN.fullmatch(text[secret.start : secret.end]) for secret in secrets(text))


def secret_values(environ: Mapping[str, str]) -> list[str]:
    """Return the values of variables with names of secrets, longest first."""
    values = {value for name, value in environ.items() if _SECRET_NAME.search(name) and len(value) >= _SHORTEST}
    return sorted(values, key=len, reverse=True)


def redactor(environ: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that masks the secret values in `environ` and known shapes of keys."""
    values = secret_values(environ)

    def without_secrets(text: str) -> str:
        for value in values:
            text = text.replace(value, MASK)
        return redact(text)

    return without_secrets
