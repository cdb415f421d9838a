"""Text from files, models and workers is hostile until it went through `safe`.

What may never reach a terminal or a widget: C0 controls but newline and tab, DEL, C1 controls, the
bidirectional overrides (CVE-2021-42574), zero-width, filling and tag characters, selectors of variants but those that
emoji use, lone surrogates. Each becomes something visible, so that a reader sees that it was there.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HOSTILE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)
_INK = re.compile(r"\S")
# What a terminal takes as a command: CSI, OSC and the other strings up to their end, two-character escapes.
_ESCAPES = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[ -/]*[0-~]?")


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures: ESC is shown as ␛
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else "\u00b7"


def safe(text: str) -> str:
    """Return `text` with every character that could act on a terminal made visible. Newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _HOSTILE.sub(_visible, text.replace("\r\n", "\n"))


def safe_all(value: Any) -> Any:
    """Return a decoded JSON value with every text in it made safe, its lists as tuples."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, dict):
        return {safe(str(key)): safe_all(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple([safe_all(inner) for inner in value])
    return value


def plain(text: str) -> str:
    """Return typed or pasted `text` without escape sequences and invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    return _HOSTILE.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))


def one_line(text: str, limit: int = 400) -> str:
    """Return `text` made safe, on one line, cut to `limit` characters with an ellipsis."""
    flat = " ".join(safe(text[: 4 * limit]).split())
    more = len(text) > 4 * limit and _INK.search(text, 4 * limit) is not None  # also far behind many blanks
    return f"{flat[: limit - 1]}…" if more or len(flat) > limit else flat


def is_safe(text: str) -> bool:
    """Return whether `safe` would leave `text` as it is (the second line of defence asks this)."""
    return _HOSTILE.search(text) is None
