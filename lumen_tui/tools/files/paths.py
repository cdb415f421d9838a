"""Resolves the paths that a model writes, and decides whether they may be read."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, ToolError
from lumen_tui.tools.files.opening import is_below, is_below_any
from lumen_tui.tools.sandbox.secrets import is_env_file

_CONTROL = (
    "lumen.toml",
    "operator.toml",
    "commands.jsonl",
    "command-receipts.jsonl",
    "engine.lock",
    "approvals",
    "locks",
    "constitution.json",
    "kill.json",
    "spend.jsonl",
)
OWN_FILES = "files"  # in the task's folder: where it may always write
_PROCESS_SECRETS = re.compile(
    r"/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem|auxv|pagemap|maps|smaps|fd|fdinfo|cwd|root)(?:/|$)"
)
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def resolve(context: Context, text: str) -> Path:
    """Return the absolute path meant by `text`, links resolved; relative ones count from the task's folder.

    ToolError where it is not there, out of bounds, or a file the worker has no business with.
    """
    if not text or "\0" in text:
        raise ToolError("the path is empty or holds a NUL character")
    path = os.path.realpath(_from_here(context, os.path.expanduser(text)))
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise ToolError(f"{one_line(text)} does not exist") from None
    except OSError as error:
        raise ToolError(f"{one_line(text)} cannot be looked at: {error.strerror}") from error
    if kind := special(status):
        raise ToolError(f"{one_line(text)} is {kind}; only files and folders are read")
    if refusal := forbidden(context, path):
        raise ToolError(refusal)
    return Path(path)


def _from_here(context: Context, text: str) -> str:
    """Return an absolute path; a relative one counts from the task's own files where it is there, else its folder."""
    own = os.path.join(context.folder, OWN_FILES, text)
    return own if os.path.lexists(own) else os.path.join(context.folder, text)


def folder(context: Context, text: str) -> Path:
    """Resolve a path that must be a folder."""
    path = resolve(context, text)
    if not path.is_dir():
        raise ToolError(f"{one_line(text)} is a file, not a folder")
    return path


def special(status: os.stat_result) -> str:
    """Return `a pipe`, `a socket` or `a device`; empty for files, folders and links."""
    return next((kind for test, kind in _KINDS if test(status.st_mode)), "")


def _is_control(name: str) -> bool:
    """Return whether an entry at the top of the state folder is the engine's own; the ledger's earlier pages are."""
    return name in _CONTROL or name.startswith("spend-")


def forbidden(context: Context, path: str) -> str:
    """Return why the real path `path` must not be read, or empty."""
    if _PROCESS_SECRETS.match(path):
        return f"{one_line(path)} holds another process's secrets and is not read"
    root = os.path.realpath(context.store.root)
    if is_below(path, root) and _is_control(os.path.relpath(path, root).split(os.sep)[0]):
        return f"{one_line(path)} belongs to the engine and the operator and is not read by workers"
    if is_below_any(path, context.rules.hidden) or is_env_file(os.path.basename(path)):
        return f"{one_line(path)} is where keys or private data are kept, and is not read"
    roots = context.rules.roots
    if roots and not is_below_any(path, (*roots, os.path.realpath(context.folder))):
        return f"{one_line(path)} is outside {', '.join(roots)}, where the constraints keep this task"
    return ""
