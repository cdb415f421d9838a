"""Decides which files the tools inside the worker process may change.

A path is checked first and used later, and a command of the same task can put a link there in between. So writers open
the folders of the real path one by one without following links (`tools/files/writing.py`).
"""

from __future__ import annotations

import os
import stat

from lumen_tui.model.config import SandboxConfig
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.base import Context, ToolError
from lumen_tui.tools.files.below import is_below
from lumen_tui.tools.sandbox import secrets
from lumen_tui.tools.sandbox.policy import RUN_LATER, obeyed_by_git, own_code, workspace, writable_roots


def settings(context: Context) -> SandboxConfig:
    """Return the settings of [sandbox] in force."""
    return load_config(context.store.layout)[0].sandbox


def ready_workspace(context: Context) -> str:
    """Return the folder of the task in which it may always write, made if missing."""
    directories.make_folder(workspace(context))
    return workspace(context)


def may_write(context: Context, path: str) -> str:
    """Return why `path` (absolute, or relative to the task's files) must not be changed, or empty."""
    if not path or "\0" in path:
        return "the path is empty or holds a NUL character"
    try:
        root, below = _place(context, path)
        _check_parts(root, below)
        _check_file(os.path.join(root, below))
    except ToolError as error:
        return str(error)
    return ""


def _place(context: Context, path: str) -> tuple[str, str]:
    """Return the granted root that holds `path` and the path relative to it; ToolError where none does."""
    if not context.rules.write:
        raise ToolError("this task may not change files")
    named = os.path.normpath(os.path.join(workspace(context), os.path.expanduser(path)))
    real = os.path.join(os.path.realpath(os.path.dirname(named)), os.path.basename(named))
    roots = [workspace(context), *writable_roots(context, settings(context))[0]]
    for root in sorted(roots, key=len, reverse=True):
        if is_below(real, root) and real != root:
            _check_owner(context, root, real)
            _check_bare(root, os.path.relpath(real, root))
            return root, os.path.relpath(real, root)
    raise ToolError(
        f"{one_line(path, 200)} is not in a folder that this task may change: {', '.join(roots)}. "
        "The operator can add one to [sandbox] writable in lumen.toml, or to the role's writable"
    )


def _check_owner(context: Context, root: str, real: str) -> None:
    """Raise ToolError for the state folder and the program itself, also below a granted folder."""
    for protected in (os.path.realpath(context.store.root), *own_code()):
        if is_below(real, protected) and not is_below(root, protected):
            raise ToolError(f"{one_line(real, 200)} belongs to lumen itself and is not changed by workers")


def _check_bare(root: str, below: str) -> None:
    """Raise ToolError for files that git obeys in a bare repository, or that would turn the folder into one."""
    parts, folder = below.split(os.sep), root
    for number, part in enumerate(parts):
        if secrets.BARE.issubset(secrets.names(folder)) and obeyed_by_git("/".join(parts[number:])):
            raise ToolError(f"{one_line(below, 200)}: git would run or obey it later; workers do not change it")
        folder = os.path.join(folder, part)
    if parts[-1] == "HEAD" and parts[-2:-1] != [".git"]:
        raise ToolError(f"{one_line(below, 200)}: with it git may take the folder for a repository and obey it")


def _check_parts(root: str, path: str) -> None:
    """Raise ToolError for protected names, compared without case: some file systems ignore it."""
    parts = path.casefold().split(os.sep)
    for number, part in enumerate(parts):
        inside_git = "/".join(parts[number + 1 :])
        if part == ".git" and (not inside_git or obeyed_by_git(inside_git)):
            raise ToolError(f"{one_line(path, 200)}: git would run or obey it later; workers do not change it")
    if any(part in RUN_LATER for part in parts):
        raise ToolError(f"{one_line(path, 200)}: programs run what stands there when they are started beside it")
    if secrets.is_env_file(parts[-1]):
        raise ToolError(f"{one_line(path, 200)} is where secrets are kept, and is not changed")


def _check_file(path: str) -> None:
    """Raise ToolError unless the path is absent, a folder, or a plain file with one name."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise ToolError(f"{one_line(path, 200)} cannot be looked at: {error.strerror}") from error
    if stat.S_ISLNK(status.st_mode):
        raise ToolError(f"{one_line(path, 200)} is a link; name the file itself")
    if not stat.S_ISDIR(status.st_mode) and (not stat.S_ISREG(status.st_mode) or status.st_nlink > 1):
        problem = "has a second name (a hard link)" if stat.S_ISREG(status.st_mode) else "is no plain file"
        raise ToolError(f"{one_line(path, 200)} {problem}, and is not changed")
