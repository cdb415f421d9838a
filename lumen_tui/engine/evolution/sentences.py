"""A message taken apart into sentences that may be quoted: no code, no quotations, no pasted output."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.S)
_END = re.compile(r"(?<=[.!?;])[\"')\]]*\s+(?=[\"'(`A-Z0-9a-z])")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_PASTED = re.compile(r"^\s*(?:>|\$ |# |@|at \S+\(|File \"|Traceback|\d{4}-\d\d-\d\d|[+-]{3} |\{|\[|\||<)|^(?: {4}|\t)")
_LONG_MESSAGE = 6000  # characters from which the middle of a message is taken as pasted
_KEPT = 2000
SHORTEST, LONGEST = 8, 380


def sentences(text: str) -> Iterator[str]:
    """Each sentence exactly as it stands in `text`."""
    for piece in _pieces(text):
        for line in _FENCE.sub("\n", piece).splitlines():
            if _PASTED.search(line):
                continue
            for sentence in _END.split(_BULLET.sub("", line)):
                stripped = sentence.strip()
                if SHORTEST <= len(stripped) <= LONGEST:
                    yield stripped


def _pieces(text: str) -> tuple[str, ...]:
    if len(text) <= _LONG_MESSAGE:
        return (text,)
    return text[:_KEPT], text[-_KEPT:]
