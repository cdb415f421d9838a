"""A repository, a task that worked apart on it, and its change list."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lumen_folder import StateFolder
from lumen_repository import Canary, Repository

from lumen_tui.actions import change_views, changelists
from lumen_tui.tools.isolation import living

NOW = 1_800_000_000.0


class Desk(StateFolder):
    """`desk.work(change)` has a task change its folder by `change(tree)`; returns the task's id."""

    BY = "ana"
    STEP = 1.0

    def __init__(self, root: Path) -> None:
        super().__init__(root / "state", NOW)
        self.layout.create()
        self.repository = Repository(root / "repository")
        self.top = self.repository.root

    def work(self, change: Callable[[Path], object], mode: str = "worktree", folder: str = "") -> str:
        task_id = self.do("task.new", objective="make it better", role="builder").target
        task = self.layout.task(task_id)
        order = living.IsolationRequest(self.layout, task, mode, folder or str(self.top), (), os.environ["PATH"])
        living.take(order, lambda: None)
        change(task / living.TREE)
        living.settle(self.layout, task, "2026-01-01T00:00:00Z")
        return str(task_id)

    def listed(self, task_id: str) -> changelists.ChangeListing:
        return changelists.listing_of(self.store, task_id)

    def states(self, task_id: str) -> dict[str, str]:
        found = self.listed(task_id)
        return {change.path: found.decision(change).state(change) for change in found.changes.files}

    def diff(self, task_id: str, path: str) -> list[str]:
        found = self.listed(task_id)
        change = found.changes.find(path)
        assert change is not None
        return [line for _, line in change_views.diff(found, change)]

    def tree(self) -> dict[str, Any]:
        """Every file of the operator with its content and mode; links with their targets."""
        seen: dict[str, Any] = {}
        for path in sorted(self.top.rglob("*")):
            name = str(path.relative_to(self.top))
            if name == ".git" or name.startswith(".git/"):
                continue
            if path.is_symlink():
                seen[name] = os.readlink(path)
            elif path.is_file():
                seen[name] = (path.read_bytes(), path.stat().st_mode & 0o777)
            else:
                seen[name] = "folder"
        return seen


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def canary(tmp_path: Path) -> Canary:
    return Canary(tmp_path / "canary")
