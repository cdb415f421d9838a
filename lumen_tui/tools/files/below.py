"""Tests whether a path is below a folder. Small, as every start of an engine and the launcher import it."""

from __future__ import annotations

from collections.abc import Iterable


def is_below(path: str, root: str) -> bool:
    """Return whether the real path `path` is `root` or below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def is_below_any(path: str, roots: Iterable[str]) -> bool:
    """Return whether the real path `path` is one of `roots` or below one."""
    return any(is_below(path, root) for root in roots)
