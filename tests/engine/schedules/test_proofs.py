"""What proves the tasks of a schedule, and in which folder: named by a command, by the settings, or by their role."""

from __future__ import annotations

import time
from typing import Any

import pytest

from lumen_tui.cli.main import main
from lumen_tui.model.tasks import Spec
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import task_files

CHECKS = ("command: make test", "file: dist/*.whl")
ROLE = """+++
purpose = "Builds."
write = true
shell = "any"
tools = ["write_file", "shell", "write_result"]
accept = ["command: make test", "file: dist/*.whl"]
+++

Build it.
"""


def made(ground: Any) -> Spec:
    """The task of the run that comes due now."""
    ground.config = load_config(ground.layout)[0]
    ground.poll()
    ground.poll(3601)
    (run,) = ground.runs()
    spec = task_files.read_spec(ground.layout, run.made)
    assert spec is not None
    return spec


@pytest.mark.parametrize("where", ["here", "there"])
@pytest.mark.parametrize("whose", ["its own", "its role's"])
def test_by_command(ground, tmp_path, monkeypatch, whose, where):
    folder = tmp_path / "work"
    folder.mkdir()
    ground.layout.role("maker").write_text(ROLE)
    monkeypatch.chdir(folder if where == "here" else tmp_path)
    words = ["schedule", "add", "release", "Build it", "--when", "every 1h"]
    words += ["--folder", "work"] if where == "there" else []
    words += ["--role", "maker"] if whose == "its role's" else ["--accept", CHECKS[0], "--accept", CHECKS[1]]
    assert main(["--state", str(ground.root), *words]) == 0
    ground.now = time.time()  # what a command says now is
    spec = made(ground)
    assert (spec.accept, spec.folder) == (CHECKS, str(folder))


@pytest.mark.parametrize("whose", ["its own", "its role's"])
def test_by_the_settings(ground, tmp_path, whose):
    ground.layout.role("maker").write_text(ROLE)
    more = f"accept = {list(CHECKS)}" if whose == "its own" else 'role = "maker"'
    ground.layout.config.write_text(
        f'[[schedules]]\nname = "release"\ntext = "Build it"\nwhen = "every 1h"\nfolder = "{tmp_path}"\n{more}\n'
    )
    spec = made(ground)
    assert (spec.accept, spec.folder) == (CHECKS, str(tmp_path))
