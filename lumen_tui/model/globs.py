"""Patterns of paths: `*` and `?` within a name, `**` for any depth, `[a-z]`, and `{py,toml}` for either."""

from __future__ import annotations

import re
from functools import lru_cache

from lumen_tui.model.patterns import lazy_re

_PIECE = lazy_re(r"(\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|\{[^{}/]*\})")
_KNOWN = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@lru_cache(256)
def path_pattern(pattern: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """Return the regular expression of a pattern such as `src/**` or `*.{py,pyi}`, for paths with slashes."""
    parts = [_KNOWN.get(piece) or _special(piece) for piece in _PIECE.split(pattern.removeprefix("./"))]
    return re.compile("".join(parts), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _special(piece: str) -> str:
    if piece.startswith("{") and piece.endswith("}") and "," in piece:
        return f"(?:{'|'.join(''.join(map(_part, _PIECE.split(word))) for word in piece[1:-1].split(','))})"
    if piece.startswith("[") and len(piece) > 2 and piece.endswith("]"):
        return _characters(piece)
    return re.escape(piece)


def _part(piece: str) -> str:
    return _KNOWN.get(piece) or re.escape(piece)


def _characters(piece: str) -> str:
    """Return `[a-z]` or `[!a-z]` as an expression; what is none is taken as it is written."""
    inner = piece[1:-1].replace("\\", r"\\").replace("^", r"\^").replace("[", r"\[").replace("&&", r"&\&")
    inner = f"^{inner[1:]}" if inner.startswith("!") else inner
    try:
        re.compile(f"[{inner}]")
    except re.error:
        return re.escape(piece)
    return f"(?!/)[{inner}]"
