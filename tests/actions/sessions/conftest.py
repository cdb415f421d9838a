"""A real state folder with agents acting in it, real git repositories beside it, and the program as a process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lumen_folder import StateFolder
from lumen_program import lumen

from lumen_tui.actions import ready
from lumen_tui.model.views import Page
from lumen_tui.store.memory import nodes
from lumen_tui.store.work import work_units

REPO = Path(__file__).resolve().parents[3]
NOW = 1_800_000_000.0


class SessionsFolder(StateFolder):
    """One state folder; `do` performs a verb as `ana`, and time goes on by a second with each."""

    STEP = 1.0

    def __init__(self, root: Path) -> None:
        super().__init__(root, NOW)

    def unit(self, number: int = 42, lane: str = "Framework: Core") -> str:
        return self.do("wu.new", title=f"unit {number}", lane=lane, id=f"WU-{number:03d}").target

    def state(self, wu_id: str) -> work_units.Tracked:
        found = work_units.read_tracked(self.layout, wu_id)
        assert found is not None
        return found

    def page(self, wu_id: str = "WU-042", *, by: str = "bo", type: str = "") -> Page:
        return ready.page(self.store, by=by, now=self.now, wu_id=wu_id, type=type)

    def node(self, node_id: str) -> dict[str, Any]:
        return nodes.find(self.layout.memory, [node_id])[node_id][1]

    def records(self, path: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def settings(self, text: str) -> None:
        self.layout.config.write_text(text)

    def files(self) -> dict[str, bytes]:
        """Every file below the state folder that holds something, without the index."""
        found = (path for path in self.root.rglob("*") if path.is_file() and path.parent != self.layout.index)
        return {str(path.relative_to(self.root)): data for path in found if (data := path.read_bytes())}


class Git:
    """A repository; `git("commit", ...)` runs the program in it without anybody's configuration."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True)
        self("init", "-q")

    def __call__(self, *words: str) -> str:
        environ = {
            "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "t",
            "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.org",
        }  # fmt: skip
        ran = subprocess.run(["git", *words], cwd=self.root, env=environ, capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, name: str, text: str) -> str:
        self.write(name, text)
        self("add", "-A")
        self("commit", "-qm", name)
        return self("rev-parse", "HEAD")


class Shell:
    """`shell("ready", "--wu", …, agent="bo")` runs the program on one state folder as that agent."""

    def __init__(self, root: Path, cwd: Path) -> None:
        self.root, self.cwd = root, cwd

    def __call__(self, *words: str, agent: str = "ana", **environ: str) -> subprocess.CompletedProcess[str]:
        settings = {"LUMEN_STATE": str(self.root), "LUMEN_OPERATOR": agent, "PYTHONPATH": str(REPO)}
        return lumen([*words], env={**os.environ, **settings, **environ}, cwd=self.cwd)

    def ok(self, *words: str, agent: str = "ana", **environ: str) -> str:
        ran = self(*words, agent=agent, **environ)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    def json(self, *words: str, agent: str = "ana") -> Any:
        return json.loads(self.ok(*words, "--json", agent=agent))


@pytest.fixture
def desk(tmp_path: Path) -> SessionsFolder:
    made = SessionsFolder(tmp_path / "state")
    made.layout.create()
    return made


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return Git(tmp_path / "code")


@pytest.fixture
def repository(tmp_path: Path) -> Callable[[str], Git]:
    return lambda name: Git(tmp_path / name)


@pytest.fixture
def shell(tmp_path: Path, git: Git) -> Shell:
    made = Shell(tmp_path / "state", git.root)
    made.ok("init")
    return made
