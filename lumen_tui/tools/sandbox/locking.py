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
            if _is_others(path, folder, own) and _locks(pid, name):
                return _why(path)
    return _mapped(pids, folder, own)


def _mapped(pids: list[int], folder: str, own: str) -> str:
    """The same for memory: a file that is mapped stays open, and locked, when its descriptor was closed long ago."""
    locked = _inodes(set(map(str, pids)))
    for pid in pids if locked else []:
        for line in _lines(f"/proc/{pid}/maps"):
            words = line.rstrip("\n").split(maxsplit=5)  # where, rights, offset, device, inode, name
            if len(words) == 6 and words[4] in locked and _is_others(words[5], folder, own):
                return _why(words[5])
    return ""


def _inodes(takers: set[str]) -> set[str]:
    """The numbers of the files that these processes locked."""
    found = set()
    for line in _lines("/proc/locks"):
        words = line.split()
        if len(words) > 5 and words[4] in takers:
            found.add(words[5].rpartition(":")[2])
    return found


def _is_others(path: str, folder: str, own: str) -> bool:
    return is_below(path, folder) and not (own and is_below(path, own))


def _why(path: str) -> str:
    return f"it locked {one_line(path, 200)}, for which others would wait"


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as told:
            return told.readlines()
    except OSError:
        return []


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
    return any(line.startswith("lock:") for line in _lines(f"/proc/{pid}/fdinfo/{name}"))
