"""Builders that work apart in one repository, with a real engine and real workers, and kills at any moment.

A local server speaks for the model.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import held, text, tool
from lumen_folder import StateFolder
from lumen_program import Child, start_lumen
from lumen_repository import Repository
from lumen_sweeps import seeds
from lumen_until import until

from lumen_tui.model.changelist import ChangeList
from lumen_tui.model.tasks import Run
from lumen_tui.storage import locks, process
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store.tasks import change_records, task_files
from lumen_tui.store.tasks.task_records import read_json
from lumen_tui.tools.isolation import records

ROLE = """+++
purpose = "p"
shell = "any"
write = true
isolate = "worktree"
tools = ["shell", "write_file", "read_file", "write_result"]
+++

Work.
"""
CONFIG = (
    "[heartbeat]\nsettle_seconds = 0.1\n[workers]\nwarm_minutes = 0\nretries = 8\ndeaths = 0\n"
    '[models]\nprovider = "openai"\n'
)


class Yard(StateFolder):
    """A repository, a state folder, and engines that come and go."""

    BY = "ann"

    def __init__(self, root: Path, environ: dict[str, str]) -> None:
        super().__init__(root / "state", SystemClock())
        self._environ = {**os.environ, **environ}
        self.layout.create()
        self.layout.role("builder").write_text(ROLE)
        self.layout.config.write_text(CONFIG)
        self.repository = Repository(root / "repository")
        self.repository.write(".gitignore", "*.o\n")
        self.repository.commit(a__txt="one\n", b__txt="two\n")
        self.engines: list[Child] = []

    def start(self) -> None:
        words = ["--engine-only", "--state", str(self.store.root)]
        self.engines.append(start_lumen(words, env=self._environ, cwd=self.store.root))

    def order(self, objective: str, **more: Any) -> str:
        given = {"objective": objective, "role": "builder", "folder": str(self.repository.root), **more}
        return str(self.do("task.new", **given).target)

    def folder(self, task_id: str) -> Path:
        found = task_files.folder_of(self.layout, task_id)
        assert found is not None
        return found

    def changes(self, task_id: str) -> ChangeList:
        """What the task changed, once that was taken in."""
        until(lambda: self.is_settled(task_id), lambda: self.instead(task_id))
        changes = change_records.read_list(self.folder(task_id))
        assert changes is not None, self.instead(task_id)
        return changes

    def is_settled(self, task_id: str) -> bool:
        isolation = records.read_isolation(self.folder(task_id))
        return isolation is not None and isolation.state == "settled"

    def instead(self, task_id: str) -> str:
        folder = self.folder(task_id)
        told = [self.layout.engine_log, folder / "run.json", folder / "worker.log", folder / "events.jsonl"]
        told += [self.layout.events]
        texts = [f"{path.name}: {path.read_text()[-800:]}" for path in told if path.exists()]
        code = self.engines[-1].poll()
        files = sorted(path.name for path in folder.iterdir())
        return "\n".join([f"engine: {'runs' if code is None else f'exit code {code}'}", f"files: {files}", *texts])

    def kill_engine(self) -> None:
        self.engines[-1].kill()
        self.engines[-1].wait()

    def kill_worker(self, task_id: str) -> None:
        folder = self.folder(task_id)
        run = read_json(folder / "run.json", Run)
        if run is not None and run.pid and locks.is_locked(folder / "run.lock"):
            try:
                os.kill(run.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def close(self) -> None:
        for engine in self.engines:
            engine.kill()
            engine.wait()
        for path in [*self.layout.tasks.glob("*/run.lock"), *self.layout.archive.glob("*/*/*/run.lock")]:
            process.kill_lock_holders(str(path))

    def leavings(self) -> list[str]:
        found = [str(path) for path in self.layout.trees.glob("*/trash/*")]
        found += [str(path) for path in self.layout.trees.glob("*/git/refs/heads/lumen/*")]
        for pool in self.layout.trees.iterdir():
            kept = {path.name for path in (pool / "kept").iterdir()}
            found += [str(path) for path in (pool / "git" / "worktrees").iterdir() if path.name not in kept]
            found += [f"locked: {path}" for path in (pool / "git").rglob("*.lock")]
        found += [str(path) for path in self.layout.archive.glob("*/*/*/files*")]
        return found


@pytest.fixture
def yard(tmp_path: Path, api: Any) -> Iterator[Yard]:
    made = Yard(tmp_path, api.openai_env)
    yield made
    made.close()


def words(asked: Any) -> str:
    return str(asked.body)


def test_what_a_builder_changes_is_a_list_and_the_operators_files_are_as_they_were(yard, api, sandbox):
    command = (
        "git status --short > seen.o; echo 1 >> a.txt; echo new > new.txt; git log --format=%s >> seen.o; cat seen.o"
    )
    api.otherwise(lambda asked: text("ok") if asked.results else tool("shell", command=command))
    yard.start()
    task_id = yard.order("change it")
    changes = yard.changes(task_id)
    assert {change.path: change.kind for change in changes.files} == {"a.txt": "changed", "new.txt": "added"}
    assert yard.repository("status", "--porcelain", "--ignored") == ""
    assert (yard.repository.root / "a.txt").read_text() == "one\n"
    request = words(api.asked[0])
    assert f"your own worktree of {yard.repository.root}" in request
    assert "a change" in str(api.asked[-1].results)
    until(lambda: not yard.leavings(), yard.leavings)


@pytest.mark.parametrize("bad", [{"folder": ""}, {"folder": "/gone"}])
def test_without_a_folder_the_task_ends_with_a_sentence(yard, api, bad):
    yard.start()
    task_id = yard.order("change it", **bad)
    until(lambda: (yard.folder(task_id) / "exit.json").exists())
    assert "folder" in (yard.folder(task_id) / "exit.json").read_text()
    assert api.asked == []


@pytest.mark.parametrize("who", ["worker", "engine and worker"])
def test_a_builder_that_was_killed_goes_on_in_its_worktree_and_repeats_nothing(yard, api, sandbox, who):
    calls = [tool("shell", command="echo one >> made.txt"), tool("shell", command="echo two >> made.txt")]
    steps = iter([*calls, held(text("never said"))])
    api.otherwise(lambda asked: next(steps))
    yard.start()
    task_id = yard.order("change it")
    until(lambda: len(api.asked) == 3, lambda: yard.instead(task_id))
    api.otherwise(
        lambda asked: text("ok") if "three" in words(asked) else tool("shell", command="echo three >> made.txt")
    )
    if who != "worker":
        yard.kill_engine()
    yard.kill_worker(task_id)
    api.release()
    if who != "worker":
        yard.start()
    (change,) = yard.changes(task_id).files
    assert records.content(yard.folder(task_id), change.after) == b"one\ntwo\nthree\n"
    assert '"status":"done"' in (yard.folder(task_id) / "exit.json").read_text().replace(" ", "")
    assert len(api.asked) == 5
    until(lambda: not yard.leavings(), yard.leavings)


@pytest.mark.sweep(most=3)
@pytest.mark.parametrize("seed", seeds(24))
def test_kills_at_any_moment_lose_nothing_and_leave_nothing(yard, api, sandbox, seed):
    chance = random.Random(seed)  # noqa: S311 - not for cryptography
    api.otherwise(
        lambda asked: text("ok") if asked.results else tool("write_file", path="made.txt", text="x" * 5000 + "\n")
    )
    yard.start()
    tasks = [yard.order("one"), yard.order("two")]
    for _ in range(chance.randrange(1, 4)):
        time.sleep(chance.uniform(0, 1.2))
        if chance.random() < 0.5:
            yard.kill_engine()
            yard.start()
        else:
            yard.kill_worker(chance.choice(tasks))
    for task_id in tasks:
        until(lambda task=task_id: (yard.folder(task) / "exit.json").exists(), lambda task=task_id: yard.instead(task))
    for task_id in tasks:
        changes = yard.changes(task_id)
        assert {change.path for change in changes.files} <= {"made.txt"}
        for change in changes.files:
            assert records.content(yard.folder(task_id), change.after) == b"x" * 5000 + b"\n"
    yard.kill_engine()
    yard.start()
    until(lambda: not yard.leavings(), yard.leavings)
    assert yard.repository("status", "--porcelain", "--ignored") == ""
    assert yard.repository("worktree", "list").count("\n") == 0
    assert yard.repository("branch", "--list", "lumen/*") == ""
