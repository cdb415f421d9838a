"""A text in the operator's own editor: $VISUAL, $EDITOR, else the first plain one that is there."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from lumen_tui.store import files

_PLAIN_EDITORS = ("sensible-editor", "nano", "vim", "vi")


class NoEditor(Exception):
    """There is no editor, or it could not be given the terminal; the text says what to do."""


def command(environ: dict[str, str]) -> list[str]:
    """The words that start the editor. NoEditor where none can be found."""
    for name in ("VISUAL", "EDITOR"):
        if environ.get(name):
            return _split(name, environ[name])
    for name in _PLAIN_EDITORS:
        if found := shutil.which(name):
            return [found]
    raise NoEditor("No editor was found: set $EDITOR, such as EDITOR=nano, and start the room again.")


def _split(name: str, words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError as error:
        raise NoEditor(f"${name} cannot be read ({error}): set it to a plain command, such as nano.") from error


def edit(app: App[Any], text: str, suffix: str = ".md") -> str | None:
    """`text` as it came back from the editor, None where nothing was changed. Raises NoEditor."""
    words = command(dict(os.environ))
    try:
        with tempfile.TemporaryDirectory(prefix="lumen-edit-") as folder, app.suspend():
            return _edited(words, Path(folder) / f"text{suffix}", text)
    except SuspendNotSupported:
        raise NoEditor("This terminal cannot be lent to an editor: run the room in a plain terminal.") from None


def _edited(words: list[str], path: Path, text: str) -> str | None:
    files.replace(path, text.encode())
    try:
        code = subprocess.call([*words, str(path)])
    except OSError as error:
        raise NoEditor(f"{words[0]} cannot be started ({error.strerror}): set $EDITOR to an editor.") from error
    if code:
        raise NoEditor(f"{words[0]} ended with code {code}: the text was left as it is.")
    after = path.read_text(errors="replace")
    return None if after == text else after
