"""The folders around a task's own, in which conventions and skills are looked for, and what in them is not for it."""

from __future__ import annotations

import os
import stat

from lumen_tui.tools.base import Context
from lumen_tui.tools.files import opening
from lumen_tui.tools.files.opening import is_below
from lumen_tui.tools.files.paths import forbidden
from lumen_tui.tools.sandbox.policy import FILES

_MOST_LEVELS = 64


def own_files(context: Context) -> str:
    """Return the real path of the task's own files: its worktree or copy, where it works apart."""
    return os.path.join(os.path.realpath(context.folder), FILES)


def levels(folder: str, own: str) -> list[str]:
    """Return the folders from the top of the repository to this one; outside of a repository this one alone.

    In the task's own files, `own`, their top is that of the repository.
    """
    folders = [folder]
    if is_below(folder, own):
        while folders[0] != own:
            folders.insert(0, os.path.dirname(folders[0]))
        return folders
    while len(folders) < _MOST_LEVELS and not os.path.lexists(os.path.join(folders[0], ".git")):
        above = os.path.dirname(folders[0])
        if above == folders[0]:
            return [folder]
        folders.insert(0, above)
    return folders if os.path.lexists(os.path.join(folders[0], ".git")) else [folder]


def closed(context: Context, path: str) -> str:
    """Return why the real path `path` is not for this task, or empty: hidden from its tools, or of the state folder."""
    if is_below(path, os.path.realpath(context.store.root)) and not is_below(path, own_files(context)):
        return f"{path} is in the state folder"
    return forbidden(context, path)


def read_regular(path: str, most: int) -> bytes | None:
    """Return at most so many bytes of the regular file with that real path; None where there is none to be read."""
    try:
        fd = opening.file(path)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)  # `fdopen` refuses a folder, and leaves it open
        return None
    with os.fdopen(fd, "rb") as stream:
        return stream.read(most)
