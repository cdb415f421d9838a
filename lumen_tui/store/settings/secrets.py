"""Secrets that a setting names and never holds: `env:NAME` a variable, `file:PATH` a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

_MOST_BYTES = 16 * 1024


class SecretMissing(Exception):
    """What a setting names is not there, or others could read it; the text holds nothing of the secret."""


def resolve(setting: str, value: str, environ: Mapping[str, str]) -> str:
    """Return what the value of a setting stands for: a reference its secret, any other text itself.

    Raise SecretMissing.
    """
    kind, colon, name = value.partition(":")
    if not colon or kind not in ("env", "file"):
        return value
    secret = environ.get(name, "").strip() if kind == "env" else _of_file(setting, name)
    if not secret or not secret.isprintable():
        where = f"the variable {name} is not set" if kind == "env" else f"{name} is empty"
        raise SecretMissing(f"{setting}: {where}, or it is not one line of text")
    return secret


def _of_file(setting: str, name: str) -> str:
    """Return the text of a file that is the operator's alone, or that a service manager owns (`/run/secrets`)."""
    path = Path(name).expanduser()
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise SecretMissing(f"{setting}: {name} cannot be read: {error.strerror}") from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise SecretMissing(f"{setting}: {name} is not a file")
        if status.st_uid == os.geteuid() and status.st_mode & 0o077:
            raise SecretMissing(f"{setting}: others may read {name}: chmod 600 it")
        return os.read(fd, _MOST_BYTES).decode("utf-8", "replace").strip()
    finally:
        os.close(fd)
