"""The operator's own editor ($VISUAL, $EDITOR, else the first plain one), which has the room's terminal for a while.

The event loop stands still meanwhile, so this waits for the program, for the terminal and for the signals at once: the
program ends with the terminal, and with the room.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from textual.app import SuspendNotSupported

from lumen_tui.engine.launch import NoEditor as NoEditor
from lumen_tui.engine.launch import editor_command
from lumen_tui.storage import files, process
from lumen_tui.tui.host import TerminalLender

_STDIN = 0  # what the program reads from
_PATIENCE = 0.2  # seconds between HUP, TERM and KILL: an editor keeps at the first what was typed
_AT_LINE = frozenset(
    {"vi", "vim", "nvim", "view", "nano", "pico", "emacs", "emacsclient", "joe", "jed", "micro", "mg", "ne"}
)
_LOOK = 200  # milliseconds between two looks where the system does not tell of the end of a process


def run(words: list[str]) -> int:
    """Run a program to its end, and return its exit code; it is ended where its terminal goes or the room must end.

    OSError where it cannot be started.
    """
    with _asked_to_end() as asked, subprocess.Popen(words) as program:
        ended = process.open_pidfd(process.identify(program.pid))
        look = select.poll()
        if stat.S_ISCHR(os.fstat(_STDIN).st_mode):
            look.register(_STDIN, 0)  # tells of a hang-up, and of nothing else
        for fd in (asked, ended):
            if fd >= 0:
                look.register(fd, select.POLLIN)
        while program.poll() is None:
            if any(fd != ended for fd, _ in look.poll(_LOOK if ended < 0 else None)):
                _end(program)
        if ended >= 0:
            os.close(ended)
        return program.returncode


@contextmanager
def _asked_to_end() -> Iterator[int]:
    """A descriptor that becomes readable at HUP or TERM. The event loop hears of them too, once it turns again."""
    reading, writing = os.pipe()
    numbers = (signal.SIGHUP, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: os.write(writing, b"x")) for number in numbers]
    try:
        yield reading
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)


def _end(program: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
        program.send_signal(number)
        try:
            program.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            continue
        return


def edit(lender: TerminalLender, text: str, suffix: str = ".md") -> str | None:
    """`text` as it came back from the editor, with its line ends, None where nothing was changed. Raises NoEditor."""
    try:
        with tempfile.TemporaryDirectory(prefix="lumen-edit-") as folder:
            path = Path(folder) / f"text{suffix}"
            files.replace(path, text.encode())
            edit_file(lender, path)
            after = path.read_bytes().decode("utf-8", "replace")
    except (files.StoreError, OSError) as error:
        raise NoEditor(
            f"The text stays as it is ({error}): free some space in the folder that $TMPDIR names."
        ) from error
    if "\r" not in text:
        after = after.replace("\r\n", "\n")
    return None if after == text else after


def edit_file(lender: TerminalLender, path: Path, line: int = 0) -> None:
    """Let the operator edit a file where it stands, at a line. Raises NoEditor, once the room has its terminal back."""
    words = editor_command(dict(os.environ))
    at = [f"+{line}"] if line and Path(words[0]).name in _AT_LINE else []
    try:
        with lender.suspend():
            wrong = _run([*words, *at, str(path)])
    except SuspendNotSupported:
        raise NoEditor("This terminal cannot be handed to an editor: run the room in a plain terminal.") from None
    if wrong:
        raise NoEditor(wrong)


def _run(words: list[str]) -> str:
    """Return why the text is to be left as it was. Nothing is raised: the terminal must be taken back first."""
    try:
        code = run(words)
    except OSError as error:
        return f"{words[0]} cannot be started ({error.strerror}): set $EDITOR to an editor."
    return f"{words[0]} ended with code {code}: the text is unchanged." if code else ""
