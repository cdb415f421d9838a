"""Real worker processes on temporary state folders."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_folder import StateFolder
from lumen_program import Child, start_worker
from lumen_scripted import Scripted
from lumen_task import TaskFolder

from lumen_tui.storage import locks
from lumen_tui.storage.layout import Layout

ROOT = Path(__file__).resolve().parents[2]


class WorkerTask(TaskFolder):
    """One task folder and the processes that were started on it."""

    def __init__(self, layout: Layout, task_id: str) -> None:
        super().__init__(layout, task_id)
        self.children: list[subprocess.Popen[bytes] | Child] = []

    def start(self, lock: bool = True, warm: bool = False, **environ: str) -> subprocess.Popen[bytes] | Child:
        """Start a worker as the engine does; `warm` forks it from a process that has the vendor's library loaded."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.layout.root), "PYTHONPATH": str(ROOT), **environ}
        fds: tuple[int, ...] = ()
        if lock and (fd := locks.try_lock(self.folder / "run.lock")) is not None:
            env["LUMEN_LOCK_FD"] = str(fd)
            fds = (fd,)
        child = start_worker(self.folder, env, *fds) if warm else self._cold(env, fds)
        for fd in fds:
            os.close(fd)
        self.children.append(child)
        return child

    def _cold(self, env: dict[str, str], fds: tuple[int, ...]) -> subprocess.Popen[bytes]:
        with open(self.folder / "worker.log", "ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "lumen_tui.worker", str(self.folder)], cwd=self.folder, env=env,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=fds, start_new_session=True,
            )  # fmt: skip

    def run(self, seconds: float = 30, warm: bool = False, **environ: str) -> dict[str, Any]:
        """Start, wait for the end, and return exit.json."""
        self.start(warm=warm, **environ).wait(seconds)
        return self.exit

    @property
    def result(self) -> str:
        return (self.folder / "result.md").read_text()

    def until_called(self) -> None:
        self.until(lambda: any(event["kind"] == "call" for event in self.events))


MakeTask = Callable[..., WorkerTask]


@pytest.fixture
def make_task(tmp_path: Path) -> Iterator[MakeTask]:
    layout = Layout(tmp_path / "state")
    layout.create()
    made: list[WorkerTask] = []

    def make(objective: str, role: str = "researcher", task_id: str = "tsk-one", **spec: Any) -> WorkerTask:
        task = WorkerTask(layout, task_id)
        task.write("spec.json", {"id": task_id, "objective": objective, "role": role, **spec})
        task.write("run.json", {"attempt": 2, "started_at": "2026-01-01T00:00:00Z"})
        made.append(task)
        return task

    yield make
    for task in made:
        for child in task.children:
            child.kill()
            child.wait()


@pytest.fixture
def server(api: Any) -> Scripted:
    return Scripted(api)


Plan = Callable[..., list[str]]


@pytest.fixture
def home(make_task: MakeTask) -> StateFolder:
    """The folder of the tasks."""
    return StateFolder(make_task("to have a folder", task_id="tsk-zero").layout.root, time.time())


@pytest.fixture
def plan(make_task: MakeTask, api: Any, home: StateFolder) -> Plan:
    """Let a worker make these calls and then end, and return what each of them said."""
    made: dict[str, WorkerTask] = {}

    def carry_out(*calls: Any, task_id: str = "tsk-one", role: str = "planner", **spec: Any) -> list[str]:
        from lumen_apiserver import tool

        before = len(api.asked)
        pending = itertools.chain(calls, itertools.repeat(tool("write_result", text="planned")))

        def answer(request: Any) -> Any:
            call = next(pending)
            return tool(call[0], call[1]) if isinstance(call, tuple) else call() if callable(call) else call

        api.otherwise(answer)
        if task_id not in made:
            made[task_id] = make_task("Plan it", role=role, task_id=task_id, **spec)
        task = made[task_id]
        for name in ("exit.json", "steps.jsonl"):
            (task.folder / name).unlink(missing_ok=True)  # as for another task
        assert task.run(warm=True, **api.anthropic_env)["status"] == "done", task.instead()
        return ["\n".join(request.results) for request in api.asked[before + 1 : before + 1 + len(calls)]]

    return carry_out
