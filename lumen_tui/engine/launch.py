"""Programs that a front end starts: an engine that outlives it, in a session of its own, and the operator's editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout


def start_engine(root: Path) -> subprocess.Popen[bytes]:
    """Start an engine on `root`; what it says goes to engine.log. Where one is running, this one ends at once."""
    log = files.open_append(Layout(root).engine_log)
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "lumen_tui", "--engine-only", "--state", str(root)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)


_PLAIN_EDITORS = ("sensible-editor", "nano", "vim", "vi")


class NoEditor(Exception):
    """There is no editor, or it could not be given the terminal; the text says what to do."""


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the command line that starts the editor. Raises NoEditor if none can be found."""
    for name in ("VISUAL", "EDITOR"):
        if environ.get(name):
            return _split(name, environ[name])
    for name in _PLAIN_EDITORS:
        if program := shutil.which(name):
            return [program]
    raise NoEditor("No editor was found: set $EDITOR, such as EDITOR=nano, and start the program again.")


def _split(name: str, words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError as error:
        raise NoEditor(f"${name} cannot be read ({error}): set it to a plain command, such as nano.") from error
