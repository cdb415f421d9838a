"""A text in the operator's own editor: $VISUAL, $EDITOR, else the first plain one that is there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from textual.app import SuspendNotSupported

from lumen_tui.engine.launch import NoEditor as NoEditor
from lumen_tui.engine.launch import editor_command
from lumen_tui.storage import files
from lumen_tui.tui import lent
from lumen_tui.tui.host import TerminalLender


def edit(lender: TerminalLender, text: str, suffix: str = ".md") -> str | None:
    """`text` as it came back from the editor, None where nothing was changed. Raises NoEditor."""
    try:
        with tempfile.TemporaryDirectory(prefix="lumen-edit-") as folder:
            path = Path(folder) / f"text{suffix}"
            files.replace(path, text.encode())
            edit_file(lender, path)
            after = path.read_text(encoding="utf-8", errors="replace")
    except (files.StoreError, OSError) as error:
        raise NoEditor(
            f"The text stays as it is ({error}): free some space in the folder that $TMPDIR names."
        ) from error
    return None if after == text else after


def edit_file(lender: TerminalLender, path: Path) -> None:
    """Let the operator edit a file where it stands. Raises NoEditor, once the room has its terminal back."""
    words = editor_command(dict(os.environ))
    try:
        with lender.suspend():
            wrong = _run([*words, str(path)])
    except SuspendNotSupported:
        raise NoEditor("This terminal cannot be handed to an editor: run the room in a plain terminal.") from None
    if wrong:
        raise NoEditor(wrong)


def _run(words: list[str]) -> str:
    """Why the text is to be left as it was. Nothing is raised: the terminal must be taken back first."""
    try:
        code = lent.run(words)
    except OSError as error:
        return f"{words[0]} cannot be started ({error.strerror}): set $EDITOR to an editor."
    return f"{words[0]} ended with code {code}: the text is unchanged." if code else ""
