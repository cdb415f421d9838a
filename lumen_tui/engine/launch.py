"""Programs that a front end starts: an engine that outlives it, a command to its end, the operator's editor."""

from __future__ import annotations

import functools
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from lumen_tui.model.grammar import Grammar
from lumen_tui.storage import files, schema
from lumen_tui.storage.layout import Layout


def start_engine(root: Path) -> subprocess.Popen[bytes]:
    """Start an engine on `root`; what it says goes to engine.log. Where one is running, this one ends at once.

    Raise StoreError, as where a later version wrote the folder.
    """
    schema.heed(Layout(root).schema)
    return _start(root, ["--engine-only"])


def start_trial(root: Path, operator: str, candidate: str) -> subprocess.Popen[bytes]:
    """Start a trial that outlives the room: what it says goes to engine.log, how far it is to its file. StoreError."""
    return _start(root, ["--operator", operator, "evolve", "--try", candidate])


def start_sleep(root: Path, operator: str) -> subprocess.Popen[bytes]:
    """Start a pass of sleep-time work: what it says goes to engine.log. StoreError."""
    return _start(root, ["--operator", operator, "evolve", "sleep"])


def _start(root: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    log = files.open_append(Layout(root).engine_log)
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "lumen_tui", "--state", str(root), *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)


_PATIENCE = 300.0  # seconds that a command may take
_GRACE = 3.0  # seconds after which one that was asked to end is ended
_OUTPUT = 512 * 1024  # bytes of what it prints


class CommandRun(Struct, frozen=True):
    """How a command ended, with the beginning of what it printed."""

    code: int
    out: str
    err: str
    more: int = 0  # bytes that were left out


def run_command(root: Path, operator: str, words: Sequence[str], *, client: str, columns: int) -> CommandRun:
    """Carry out a command line as a shell would, in a process of its own, and wait for its end. OSError, StoreError.

    It is in our session: what it asks for is the word of whoever sits at this terminal. It can read nothing from there.
    """
    import tempfile  # not on the way to the first paint

    program = [sys.executable, "-P", "-m", "lumen_tui", "--state", str(root), "--operator", operator, *words]
    environ = {**os.environ, "LUMEN_CLIENT": client, "COLUMNS": str(columns), "NO_COLOR": "1"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environ) as child:
            ended = _wait(child)
        texts = [_beginning(file) for file in (out, err)]
        reason = "" if ended else f"it was ended after {_PATIENCE:.0f} s"
        more = sum(max(0, os.fstat(file.fileno()).st_size - _OUTPUT) for file in (out, err))
    return CommandRun(child.returncode if ended else 1, texts[0], texts[1] + reason, more)


def _wait(child: subprocess.Popen[bytes]) -> bool:
    """Return whether a child ended by itself; one that takes too long is asked to, and then ended."""
    try:
        child.wait(_PATIENCE)
        return True
    except subprocess.TimeoutExpired:
        child.terminate()
    try:
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        child.kill()
    return False


def _beginning(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_OUTPUT).decode(errors="replace")


@functools.cache
def command_grammar() -> Grammar:
    """Return what the command line takes, as the command line itself tells it. OSError, msgspec.DecodeError."""
    program = [sys.executable, "-P", "-m", "lumen_tui", "help", "--json"]
    listing = subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_PATIENCE)
    return msgspec.json.decode(listing.stdout, type=Grammar)


_PLAIN_EDITORS = ("sensible-editor", "nano", "vim", "vi")


class NoEditor(Exception):
    """There is no editor, or it could not be given the terminal; the text says what to do."""


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the command line that starts the editor. Raises NoEditor if none can be found."""
    for name in ("VISUAL", "EDITOR"):
        if environ.get(name):
            return _split(name, environ[name])
    import shutil  # 2 ms that the room's start need not take

    for name in _PLAIN_EDITORS:
        if program := shutil.which(name):
            return [program]
    raise NoEditor("No editor was found: set $EDITOR, such as EDITOR=nano, and start the program again.")


def _split(name: str, words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError as error:
        raise NoEditor(f"${name} cannot be read ({error}): set it to a plain command, such as nano.") from error
