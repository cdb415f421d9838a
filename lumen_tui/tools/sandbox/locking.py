"""Detects locks that a command takes on state files, which the kernel lets everybody lock who can open them.

Writers of that file would wait for the command, and a dead worker whose lock it holds would seem alive.
"""

from __future__ import annotations

from lumen_tui.model.text import one_line
from lumen_tui.tools.files.below import is_below
from lumen_tui.tools.sandbox.descriptors import OpenDescriptor, proc_lines, read_lines


def foreign_lock(pids: list[int], open_files: list[OpenDescriptor], folder: str, own: str) -> str:
    """Return why these processes must end: they hold a lock or lease in `folder`, not below `own`. Else empty.

    `open_files` are their descriptors.
    """
    for file in open_files:
        if _is_foreign(file.path, folder, own) and any(line.startswith("lock:") for line in read_lines(file.facts)):
            return _sentence(file.path)
    return _lock_on_mapped_file(pids, folder, own)


def _lock_on_mapped_file(pids: list[int], folder: str, own: str) -> str:
    """Return the same for mapped files, which stay open, and locked, after their descriptor is closed."""
    locked = _locked_inodes(set(map(str, pids)))
    for pid in pids if locked else []:
        for line in proc_lines(pid, "maps"):
            words = line.rstrip("\n").split(maxsplit=5)  # address, rights, offset, device, inode, name
            if len(words) == 6 and words[4] in locked and _is_foreign(words[5], folder, own):
                return _sentence(words[5])
    return ""


def _locked_inodes(holders: set[str]) -> set[str]:
    """Return the inode numbers of the files that these processes locked."""
    inodes = set()
    for line in read_lines("/proc/locks"):
        words = line.split()
        if len(words) > 5 and words[4] in holders:
            inodes.add(words[5].rpartition(":")[2])
    return inodes


def _is_foreign(path: str, folder: str, own: str) -> bool:
    return is_below(path, folder) and not (own and is_below(path, own))


def _sentence(path: str) -> str:
    return f"it locked {one_line(path, 200)}, for which others would wait"
