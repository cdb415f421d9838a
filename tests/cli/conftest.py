"""The command line as a person has it: a real process, or `main` in this one for tables of input."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from lumen_program import lumen

from lumen_tui.storage.layout import Layout

REPO = Path(__file__).resolve().parents[2]


class Shell:
    """`shell("task", "list")` runs the program on one state folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.layout = Layout(root)
        self.environ = {**os.environ, "LUMEN_STATE": str(root), "LUMEN_OPERATOR": "ana", "PYTHONPATH": str(REPO)}

    def __call__(self, *words: str, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        return lumen([*words], env={**self.environ, **environ}, cwd=self.root.parent, stdin=stdin)

    def files(self) -> dict[str, bytes]:
        """Every file below the state folder, without the empty lock files and what is derived."""
        found = sorted(path for path in self.root.rglob("*") if path.is_file() and path.suffix != ".lock")
        found = [path for path in found if path.parent != self.layout.index]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in found}


@contextmanager
def watching(shell: Shell, *words: str) -> Iterator[Callable[[], str]]:
    """A program that goes on until it is stopped; what it yields reads its next line, or fails after 20 seconds."""
    command = [sys.executable, "-m", "lumen_tui", *words]
    with subprocess.Popen(command, env=shell.environ, stdout=subprocess.PIPE, text=True, cwd=shell.root) as program:
        assert program.stdout is not None
        deadline = threading.Timer(20, program.kill)
        deadline.start()
        try:
            yield program.stdout.readline
        finally:
            deadline.cancel()
            program.terminate()


@pytest.fixture
def watch(shell: Shell) -> Callable[..., AbstractContextManager[Callable[[], str]]]:
    return lambda *words: watching(shell, *words)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    made = Shell(tmp_path / "state")
    made.layout.create()
    return made


@pytest.fixture
def here(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The same folder for `main` called in this process."""
    monkeypatch.setenv("LUMEN_STATE", str(shell.root))
    monkeypatch.setenv("LUMEN_OPERATOR", "ana")
    return shell
