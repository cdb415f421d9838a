"""State folders with questions in them, and real workers that ask."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_folder import StateFolder
from lumen_program import Child, start_worker
from lumen_questions import asking_role
from lumen_task import TaskFolder

from lumen_tui.cli.main import main
from lumen_tui.model import times
from lumen_tui.model.approvals import Approval, call_hash
from lumen_tui.storage import locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals

ROOT = Path(__file__).resolve().parents[3]
NOW = 1_800_000_000.0
BUILDER = asking_role("shell", "write_file", "write_result")


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    """A state folder in which operators answer a minute and more after everything was asked."""
    made = StateFolder(tmp_path / "state", NOW + 60)
    made.BY = "ann"
    made.layout.create()
    return made


@pytest.fixture
def store(folder: StateFolder) -> Store:
    return folder.store


@pytest.fixture
def run(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """`run(words…)` gives exit code, stdout, stderr."""
    monkeypatch.setattr("lumen_tui.cli.session.time.time", lambda: NOW + 60)

    def call(*words: str) -> tuple[int, str, str]:
        code = main(["--state", str(store.root), "--operator", "ann", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def ask(store: Store) -> Callable[..., Approval]:
    """Put a question on file, as a worker does."""

    def put(command: str = "make deploy", task: str = "tsk-one", at: float = NOW, **more: Any) -> Approval:
        given = {"tool": "shell", "arguments": {"command": command, "cwd": "", "timeout": 120.0}, **more}
        call = call_hash(given["tool"], given["arguments"])
        request = Approval(
            id=approvals.id_for(task, call, 0), task_id=task, hash=call, asked_at=times.iso(at), role="builder",
            expires_at=times.iso(at + 3600), summary=command, **{"rule": command, **given},
        )  # fmt: skip
        return approvals.ask(store.layout, request)

    return put


class Worker(TaskFolder):
    """One task folder and the processes that were started on it."""

    def __init__(self, layout: Layout, task_id: str) -> None:
        super().__init__(layout, task_id)
        self.children: list[Child] = []

    def start(self, attempt: int = 1, **environ: str) -> Child:
        """Start a worker as the engine does."""
        self.write("run.json", {"attempt": attempt, "started_at": times.iso(time.time())})
        env = {"PATH": os.environ["PATH"], "HOME": str(self.layout.root), "PYTHONPATH": str(ROOT), **environ}
        fd = locks.try_lock(self.folder / "run.lock")
        assert fd is not None
        child = start_worker(self.folder, env, fd)
        os.close(fd)
        self.children.append(child)
        return child

    def go_on(self, attempt: int = 2, **environ: str) -> Child:
        """Start the next worker as the engine does, once the one before has ended and left the task parked."""
        assert self.children[-1].wait(20) == 3
        assert not (self.folder / "exit.json").exists()
        return self.start(attempt, **environ)

    def question(self) -> Approval:
        """The one question that waits, once there is one."""
        self.until(lambda: approvals.undecided(self.layout) and self.kinds("waiting"))
        (found,) = approvals.undecided(self.layout)
        return found


@pytest.fixture
def make_worker(store: Store) -> Iterator[Callable[..., Worker]]:
    made: list[Worker] = []
    store.layout.role("builder").write_text(BUILDER)

    def make(role: str = "builder", task_id: str = "tsk-one", **spec: Any) -> Worker:
        worker = Worker(store.layout, task_id)
        worker.write("spec.json", {"id": task_id, "objective": "do it", "role": role, **spec})
        made.append(worker)
        return worker

    yield make
    for worker in made:
        for child in worker.children:
            child.kill()
            child.wait()
