"""Locks that a command takes on files it may only read: whoever writes there would wait for it, and a dead worker whose
lock it holds would seem to live. The kernel lets everybody lock what they can open."""

from __future__ import annotations

import os

from lumen_tui.model.text import one_line
from lumen_tui.tools.below import is_below

_MOST = 20_000  # open files of one command that are looked at


def held(pids: list[int], folder: str, own: str) -> str:
    """Why these processes have to end: they hold a lock or a lease in `folder`, not below `own`. Empty where not."""
    count = 0
    for pid in pids:
        for name in _names(f"/proc/{pid}/fd"):
            count += 1
            if count > _MOST:
                return f"it had more than {_MOST:,} open files"
            path = _leads(f"/proc/{pid}/fd/{name}")
            if is_below(path, folder) and not (own and is_below(path, own)) and _locks(pid, name):
                return f"it locked {one_line(path, 200)}, for which others would wait"
    return ""


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _leads(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def _locks(pid: int, name: str) -> bool:
    try:
        with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii", errors="replace") as told:
            return any(line.startswith("lock:") for line in told)
    except OSError:
        return False
