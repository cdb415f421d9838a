"""The lines by which an operator moved the borders of panes, kept across starts in the disposable index."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout

MOST = 40  # lines either way
_LIMIT = 4096  # bytes
_NAME = "panes.txt"


def load(root: str) -> dict[str, int]:
    """Return the lines by pane, `workers 3` in the file; what cannot be read or is out of bounds counts for nothing."""
    try:
        text = (files.read(Layout(Path(root)).index / _NAME, _LIMIT) or b"").decode()
    except (files.StoreError, OSError, UnicodeDecodeError):
        return {}
    sizes = {}
    for scope, _, lines in (line.partition(" ") for line in text.splitlines()):
        sign, digits = lines[:1], lines.removeprefix("-")
        if scope.isalpha() and digits.isascii() and digits.isdecimal() and len(digits) < 3 and int(digits) <= MOST:
            sizes[scope] = -int(digits) if sign == "-" else int(digits)
    return sizes


def save(root: str, sizes: Mapping[str, int]) -> None:
    """Keep the lines. A disk that refuses it is ignored: panes are as they are by themselves at the next start."""
    text = "".join(f"{scope} {lines}\n" for scope, lines in sizes.items() if lines)
    try:
        files.replace(Layout(Path(root)).index / _NAME, text.encode())
    except (files.StoreError, OSError):
        return
