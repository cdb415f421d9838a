"""The processes above this one, by which agents of one login are told apart.

On the path of the hot verbs, and read only where a login has several sessions open.
"""

from __future__ import annotations

import os

_MOST = 12  # levels looked up


def above() -> list[str]:
    """Pid and start ticks of each process above this one, the nearest first; without the one that begins them all."""
    found: list[str] = []
    pid = os.getppid()
    while pid > 1 and len(found) < _MOST:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            break
        found.append(f"{pid}:{int(fields[19])}")
        pid = int(fields[1])
    return found


def distance(mine: list[str], theirs: tuple[str, ...]) -> int:
    """How many levels up the nearest process stands that is above both; more than any where there is none."""
    return next((level for level, one in enumerate(mine) if one in theirs), _MOST)
