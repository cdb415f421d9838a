"""Where a path stands: all that an engine, which tests the walls at its start, needs of the tools' paths."""

from __future__ import annotations


def is_below(path: str, root: str) -> bool:
    """Whether the real path `path` is `root` or stands below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")
