"""The ancestors of this process, which distinguish agents that share a login.

On the path of the hot verbs, and read only where a login has several sessions open.
"""

from __future__ import annotations

import os

_MOST = 12  # levels that are examined


def above() -> list[str]:
    """Return `pid:start ticks` of each ancestor of this process, nearest first and without pid 1."""
    ancestors: list[str] = []
    pid = os.getppid()
    while pid > 1 and len(ancestors) < _MOST:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            break
        ancestors.append(f"{pid}:{int(fields[19])}")
        pid = int(fields[1])
    return ancestors


def distance(mine: list[str], theirs: tuple[str, ...]) -> int:
    """Return how many levels up the nearest common ancestor is; `_MOST` where there is none."""
    return next((level for level, process in enumerate(mine) if process in theirs), _MOST)
