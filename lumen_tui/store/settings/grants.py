"""Folders that settings and roles grant to commands, and which of them no command gets."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lumen_tui.model.problem import Problem
from lumen_tui.model.text import one_line
from lumen_tui.storage.layout import Layout

_SYSTEM = "/ /bin /boot /dev /etc /home /lib /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp /usr /var"
_NEVER = frozenset(_SYSTEM.split())


def grant(named: str, home: str, state: str) -> tuple[str, str]:
    """Return the real path of a folder to grant, and why it is refused, if so; `home` and `state` are real paths."""
    path = os.path.realpath(os.path.expanduser(named))
    if not os.path.isabs(os.path.expanduser(named)):
        return path, "not an absolute path"
    if path in _NEVER:
        return path, "too wide: name the folders in it that are meant"
    if _holds(path, home):
        return path, "too wide, as your home folder is in it: name the folders in it that are meant"
    if _holds(state, path):
        return path, "inside the state folder"
    if not os.path.isdir(path):
        return path, "not a folder" if os.path.lexists(path) else "there is no such folder"
    return path, ""


def refused_grants(layout: Layout, named: Iterable[str], where: str) -> list[Problem]:
    """Return problems for the folders that `where` grants and that no command gets."""
    problems = []
    for folder in dict.fromkeys(named):
        reason = grant(folder, os.path.realpath(os.path.expanduser("~")), os.path.realpath(layout.root))[1]
        if reason:
            message = f"writable names {one_line(folder, 200)}: {reason}"
            problems.append(Problem(where=where, what=message, hint="no command may write there until it is fixed"))
    return problems


def _holds(folder: str, path: str) -> bool:
    return os.path.commonpath((folder, path)) == folder
