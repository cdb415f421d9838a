"""Tasks of real workers against a model server, and their replays."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_questions import question_of
from lumen_repository import Repository

from lumen_tui.model.approvals import Decision
from lumen_tui.model.replay import ReplayReport
from lumen_tui.model.times import iso
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals
from lumen_tui.worker.replay.run import Surroundings, Variant, replay

BUILDER = """+++
purpose = "p"
shell = "any"
write = true
tools = ["read_file", "list_dir", "glob", "grep", "write_file", "edit_file", "shell", "signal", "write_result"]
{more}
+++

Work.
"""


class Played:
    """One state folder whose tasks are played from scripts by real workers, and replayed."""

    def __init__(self, make_task: Callable[..., Any], server: Any, environ: dict[str, str]) -> None:
        self._make, self._server, self.environ = make_task, server, environ

    def prepare(self, *script: object, role: str = "maker", more: str = "", settings: str = "", **spec: Any) -> Any:
        """Return a task for which the model has this script."""
        task = self._make("anything", role=role, **spec)
        if role == "maker":
            task.layout.role("maker").write_text(BUILDER.format(more=more))
        if settings:
            task.layout.config.write_text(settings)
        self.say(*script)
        return task

    def say(self, *script: object) -> None:
        """Have the model go on with this script."""
        self._server.script = list(script)

    def play(self, *script: object, **more: Any) -> Any:
        """Have a worker do a task by this script; return it."""
        task = self.prepare(*script, **more)
        task.start(warm=True, **self.environ).wait(30)
        return task

    def asked(self, *script: object, allow: bool, **more: Any) -> Any:
        """The same, with one call about which the operator is asked, who says this."""
        task = self.prepare(*script, **more)
        worker = task.start(warm=True, **self.environ)
        task.until(lambda: question_of(task.layout, task.folder, 2))
        question = question_of(task.layout, task.folder, 2)
        assert worker.wait(30) == 3
        assert question is not None
        answer = Decision(allowed=allow, hash=question.hash, at=iso(time.time()), by="ana", reason="so be it")
        approvals.decide(task.layout, question, answer, time.time())
        self.go_on(task, 3)
        return task

    def go_on(self, task: Any, attempt: int) -> None:
        """Start the worker of the next attempt, as the engine does, and wait for its end."""
        task.write("run.json", {"attempt": attempt, "started_at": "2026-01-01T00:00:00Z"})
        task.start(warm=True, **self.environ).wait(30)

    def replay(self, task: Any, variant: Variant | None = None, **more: Any) -> ReplayReport:
        environ = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **self.environ}
        around = Surroundings(environ, time.time, time.monotonic, **more)
        return replay(Store(task.layout.root), task.id, around, variant)


@pytest.fixture
def played(make_task: Callable[..., Any], api: Any, server: Any) -> Played:
    return Played(make_task, server, api.anthropic_env)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository with one commit."""
    made = Repository(tmp_path / "project")
    made.commit(a__txt="one\ntwo\nthree\n", b__txt="before\n")
    return made


@pytest.fixture
def untouched() -> Iterator[Callable[[Path], None]]:
    """Call it with a folder: nothing in it is changed until the end of the test."""
    kept: dict[Path, dict[str, bytes]] = {}

    def look(folder: Path) -> None:
        kept[folder] = contents(folder)

    yield look
    for folder, before in kept.items():
        assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, without locks and what is made again at any time."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock" and "index" not in path.relative_to(folder).parts
    }
