"""Text that the operator edits in $EDITOR, while a command waits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import talk
from lumen_tui.storage import files, repair


@contextmanager
def edited(text: bytes, name: str) -> Iterator[bytes]:
    """Yield `text` as it came back from the editor; where the block fails, the file is kept and reported.

    Raise ActionError where there is no editor, it failed, or nothing was changed.
    """
    import tempfile  # with subprocess 5 ms, for the few commands that open an editor

    folder = Path(tempfile.mkdtemp(prefix="lumen-edit-"))
    path = folder / name
    files.replace(path, text)
    try:
        yield _text_after_editing(path, text)
    except BaseException:
        if path.exists() and path.read_bytes() != text:
            talk(f"what you wrote is in {path}: give it with --file once it is in order")
        else:
            repair.remove_leftover(folder)
        raise
    repair.remove_leftover(folder)


def _text_after_editing(path: Path, before: bytes) -> bytes:
    import subprocess

    from lumen_tui.engine.launch import NoEditor, editor_command

    try:
        words = editor_command(os.environ)
        code = subprocess.run([*words, str(path)]).returncode
    except NoEditor as error:
        raise ActionError(str(error)) from error
    except OSError as error:
        raise ActionError(f"the editor cannot be started ({error.strerror}): set $EDITOR to an editor") from error
    if code:
        raise ActionError(f"{words[0]} ended with code {code}: nothing was done")
    try:
        after = path.read_bytes()
    except OSError as error:
        raise ActionError(f"the editor returned no text ({error.strerror}): nothing was done") from error
    if after == before:
        raise ActionError("the text is unchanged: nothing was done", missing=True)
    return after
