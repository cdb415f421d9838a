"""Text and values without their secrets. Whoever writes a state file, a log or a transcript comes through here."""

from __future__ import annotations

from lumen_tui.model.secrets import may_hold, telling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Redact = Callable[[str], str]


def redact(text: str, count: Callable[[str, str], None] | None = None) -> str:
    """Return `text` with each secret replaced by the name of its rule; `count` is told the rule and the secret."""
    if not may_hold(text.encode("utf-8", "replace")):
        return text
    from lumen_tui.model.secrets.masking import masked  # the table: where there may be something alone

    return masked(text, count)


def redact_value(value: object, redact: Redact, name: str = "") -> Any:
    """Return a JSON value with every text in it redacted, names of fields as well; `name` is that of its field."""
    if isinstance(value, str):
        return _redact_field(value, redact, name)
    if isinstance(value, dict):
        return {redact(str(key)): redact_value(inner, redact, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redact_value(inner, redact, name) for inner in value]
    return value


def _redact_field(text: str, redact: Redact, name: str) -> str:
    """Redact a text; a field name that tells of a secret counts as if it stood before the text."""
    if telling(name):
        before = f'{name}: "'
        masked = redact(before + text)
        if masked.startswith(before):
            return masked[len(before) :]
    return redact(text)
