"""The files that a command runs or goes by, as they stood when a person was asked about it."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lumen_tui.model.approvals import COMMANDS
from lumen_tui.model.runners import files_of
from lumen_tui.tools.files import opening

_MOST_BYTES = 64 * 1024 * 1024  # of one file; of a larger one its size and time count


def standing(tool: str, arguments: dict[str, Any], folder: Path) -> dict[str, str]:
    """Return what the named files hold, each as a hash; empty where the call is no command that runs any.

    `folder` is where a command of the task starts that names none.
    """
    command = arguments.get("command")
    if tool not in COMMANDS or not isinstance(command, str):
        return {}
    start = os.path.join(folder, os.path.expanduser(str(arguments.get("cwd") or "")))
    return again(os.path.join(start, os.path.expanduser(name)) for name in files_of(command))


def again(paths: Iterable[str]) -> dict[str, str]:
    """Return the same of these paths as they stand now; of one that is no file it is the empty text."""
    return {path: _hash(path) for path in dict.fromkeys(paths)}


def _hash(path: str) -> str:
    try:
        with os.fdopen(opening.file(os.path.realpath(path)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return ""
            if status.st_size > _MOST_BYTES:
                return f"{status.st_size} {status.st_mtime_ns}"
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
