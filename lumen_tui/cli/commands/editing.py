"""A text in the operator's editor, from a command line. What was written there is kept where it cannot be used."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import talk
from lumen_tui.engine.texteditor import NoEditor, command
from lumen_tui.storage import files, repair


@contextmanager
def edited(text: str, name: str) -> Iterator[str]:
    """`text` as it came back from the editor; where the block fails, the file stays and is named.

    ActionError where there is no editor, it failed, or nothing was changed.
    """
    folder = Path(tempfile.mkdtemp(prefix="lumen-edit-"))
    path = folder / name
    files.replace(path, text.encode())
    try:
        yield _after(path, text)
    except BaseException:
        if path.exists() and path.read_bytes() != text.encode():
            talk(f"what you wrote is in {path}: give it with --file once it is in order")
        else:
            repair.sweep(folder)
        raise
    repair.sweep(folder)


def _after(path: Path, before: str) -> str:
    try:
        words = command(os.environ)
        code = subprocess.run([*words, str(path)]).returncode
    except NoEditor as error:
        raise ActionError(str(error)) from error
    except OSError as error:
        raise ActionError(f"the editor cannot be started ({error.strerror}): set $EDITOR to an editor") from error
    if code:
        raise ActionError(f"{words[0]} ended with code {code}: nothing was done")
    try:
        after = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ActionError(f"the text did not come back ({error.strerror}): nothing was done") from error
    if after == before:
        raise ActionError("the text came back as it was: nothing was done", missing=True)
    return after
