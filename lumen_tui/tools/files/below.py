"""Where a path stands: all that an engine, which tests the walls at its start, needs of the tools' paths."""

from __future__ import annotations

from collections.abc import Iterable


def is_below(path: str, root: str) -> bool:
    """Whether the real path `path` is `root` or stands below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def is_below_any(path: str, roots: Iterable[str]) -> bool:
    """Whether the real path `path` is one of `roots` or stands below one."""
    return any(is_below(path, root) for root in roots)
