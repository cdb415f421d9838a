"""Locks that a command takes on files it may only read: whoever writes there would wait for it, and a dead worker whose
lock it holds would seem to live. The kernel lets everybody lock what they can open."""

from __future__ import annotations

from lumen_tui.model.text import one_line
from lumen_tui.tools.files.below import is_below
from lumen_tui.tools.sandbox.descriptors import OpenDescriptor, proc_lines, read_lines


def foreign_lock(pids: list[int], open_files: list[OpenDescriptor], folder: str, own: str) -> str:
    """Why these processes have to end: they hold a lock or a lease in `folder`, not below `own`. Empty where not.

    `files` is what they have open.
    """
    for file in open_files:
        if _is_others(file.path, folder, own) and any(line.startswith("lock:") for line in read_lines(file.facts)):
            return _why(file.path)
    return _mapped(pids, folder, own)


def _mapped(pids: list[int], folder: str, own: str) -> str:
    """The same for memory: a file that is mapped stays open, and locked, when its descriptor was closed long ago."""
    locked = _inodes(set(map(str, pids)))
    for pid in pids if locked else []:
        for line in proc_lines(pid, "maps"):
            words = line.rstrip("\n").split(maxsplit=5)  # where, rights, offset, device, inode, name
            if len(words) == 6 and words[4] in locked and _is_others(words[5], folder, own):
                return _why(words[5])
    return ""


def _inodes(holders: set[str]) -> set[str]:
    """The numbers of the files that these processes locked."""
    inodes = set()
    for line in read_lines("/proc/locks"):
        words = line.split()
        if len(words) > 5 and words[4] in holders:
            inodes.add(words[5].rpartition(":")[2])
    return inodes


def _is_others(path: str, folder: str, own: str) -> bool:
    return is_below(path, folder) and not (own and is_below(path, own))


def _why(path: str) -> str:
    return f"it locked {one_line(path, 200)}, for which others would wait"
