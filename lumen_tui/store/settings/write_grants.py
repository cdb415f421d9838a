"""Which folders `[sandbox] writable` and a role may grant at all, and why one is none after all."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lumen_tui.model.snapshot import Problem
from lumen_tui.model.text import one_line
from lumen_tui.storage.layout import Layout

_NEVER = ("/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/proc", "/root",
          "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var")  # noqa: S108  # fmt: skip


def grant(named: str, home: str, state: str) -> tuple[str, str]:
    """Return the real path of a folder that is to be granted, and why it is not; `home` and `state` are real paths."""
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


def refused(layout: Layout, named: Iterable[str], where: str) -> list[Problem]:
    """Tell of the folders that `where` grants and no command gets."""
    problems = []
    for one in dict.fromkeys(named):
        why = grant(one, os.path.realpath(os.path.expanduser("~")), os.path.realpath(layout.root))[1]
        if why:
            what = f"writable names {one_line(one, 200)}: {why}"
            problems.append(Problem(where=where, what=what, hint="no command may write there until it is mended"))
    return problems


def _holds(folder: str, path: str) -> bool:
    return os.path.commonpath((folder, path)) == folder
