"""The last screen of a room as plain text, under index/: what the next room shows while it loads.

Derived and disposable. On the path of the first paint: only `os` and the store's primitives.
"""

from __future__ import annotations

import os

from lumen_tui.storage import files

_NAME = "index/last-frame.txt"
_LIMIT = 256 * 1024
_KINDS = ("full", "lean")  # of a room: the other one has other shapes


def save(root: str, size: tuple[int, int], lines: list[str], now: float, *, lean: bool) -> None:
    """Save the screen of a window of `size` (columns, rows). A disk that refuses it is ignored."""
    head = f"{size[0]} {size[1]} {now:.0f} {_KINDS[lean]}"
    try:
        files.replace(os.path.join(root, _NAME), "\n".join([head, *lines]).encode(errors="replace"))
    except (files.StoreError, OSError):
        pass


def load(root: str, size: tuple[int, int], *, lean: bool) -> tuple[list[str], float]:
    """Return the lines saved for a window of this size and kind, and when; nothing and 0 for another."""
    try:
        text = (files.read(os.path.join(root, _NAME), _LIMIT) or b"").decode(errors="replace")
        head, *lines = text.split("\n")
        columns, rows, saved_at, kind = head.split()
        fits = (int(columns), int(rows)) == size and kind == _KINDS[lean]
        return (lines, float(saved_at)) if fits else ([], 0.0)
    except (files.StoreError, OSError, ValueError):
        return [], 0.0
