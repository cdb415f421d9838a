"""Tasks that work apart, without a worker: their folders are taken, changed and settled here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lumen_repository import Canary, Repository

from lumen_tui.model.changelist import ChangeList, FileChange
from lumen_tui.model.isolation import Isolation
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import change_records
from lumen_tui.tools.isolation import living, records


class Bench:
    """`bench.take("one")` gives the task `one` its folder; `bench.settle("one")` returns what it changed."""

    def __init__(self, layout: Layout, repository: Repository) -> None:
        self.layout, self.repository = layout, repository

    def order(
        self, task_id: str, mode: str = "worktree", folder: str = "", hidden: tuple[str, ...] = ()
    ) -> living.IsolationRequest:
        task = self.layout.tasks / task_id
        task.mkdir(exist_ok=True)
        source = folder or str(self.repository.root)
        return living.IsolationRequest(self.layout, task, mode, source, hidden, os.environ["PATH"])

    def take(self, task_id: str = "one", **given: object) -> Isolation:
        return living.take(self.order(task_id, **given), lambda: None)

    def tree(self, task_id: str = "one") -> Path:
        return self.layout.tasks / task_id / living.TREE

    def settle(self, task_id: str = "one") -> ChangeList:
        task = self.layout.tasks / task_id
        living.settle(self.layout, task, "2026-01-01T00:00:00Z")
        changes = change_records.read_list(task)
        assert changes is not None
        return changes

    def content(self, change: FileChange, side: str = "after", task_id: str = "one") -> bytes:
        return records.content(self.layout.tasks / task_id, getattr(change, side))

    def git(self, task_id: str, *words: str) -> str:
        """What git says in the task's folder, as its worker would ask it."""
        import subprocess

        env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null"}
        ran = subprocess.run(["git", *words], cwd=self.tree(task_id), env=env, capture_output=True, check=True)
        return ran.stdout.decode(errors="surrogateescape")

    def leavings(self) -> list[str]:
        """Everything below trees/ that is neither kept nor the repository itself."""
        found = []
        for pool in self.layout.trees.iterdir():
            found += [str(path) for path in (pool / "trash").iterdir()]
            found += [str(path) for path in (pool / "git" / "refs" / "heads").rglob("*") if path.is_file()]
            kept = {path.name for path in (pool / "kept").iterdir()}
            found += [str(path) for path in (pool / "git" / "worktrees").iterdir() if path.name not in kept]
            found += [str(path) for path in (pool / "git").rglob("*.lock")]
        return found


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.fixture
def canary(tmp_path: Path) -> Canary:
    return Canary(tmp_path / "canary")


@pytest.fixture
def bench(tmp_path: Path, repository: Repository) -> Bench:
    layout = Layout(tmp_path / "state")
    layout.create()
    return Bench(layout, repository)
