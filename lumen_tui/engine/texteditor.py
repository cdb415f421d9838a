"""The operator's own editor: $VISUAL, $EDITOR, else the first plain one that is there."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping

_PLAIN_EDITORS = ("sensible-editor", "nano", "vim", "vi")


class NoEditor(Exception):
    """There is no editor, or it could not be given the terminal; the text says what to do."""


def command(environ: Mapping[str, str]) -> list[str]:
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
