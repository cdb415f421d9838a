"""Dockerfile, compose and devcontainer as far as they can be looked at without a container daemon, and the example."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import yaml

from lumen_tui.cli.main import main
from lumen_tui.cli.parser import build_parser
from lumen_tui.model.snapshot import Need


def _instructions(root: Path) -> list[tuple[str, str]]:
    text = (root / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2]) for line in lines]


def _sources(root: Path) -> list[str]:
    return [
        name
        for kind, rest in _instructions(root)
        if kind == "COPY" and "--from" not in rest
        for name in rest.split()[:-1]
    ]


def test_what_is_copied_is_there_and_let_through(root: Path) -> None:
    allowed = {line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for name in _sources(root):
        assert (root / name).exists(), name
        assert name in allowed, name


def test_the_image_is_built_of_what_the_wheel_is_built_of(root: Path, needed: tuple[str, ...]) -> None:
    assert {*needed} == {*_sources(root)}


def test_the_first_task_is_that_of_the_makefile(root: Path) -> None:
    (task,) = re.findall(r"^FIRST_TASK := (.*)$", (root / "Makefile").read_text(), re.MULTILINE)
    services = yaml.safe_load((root / "compose.yaml").read_text())["services"]
    assert services["first-task"]["command"] == ["run", task]
    assert services["engine"]["volumes"] == services["first-task"]["volumes"] == ["state:/state"]


def test_the_commands_of_the_image_are_commands(root: Path) -> None:
    by_kind = dict(_instructions(root))
    health = json.loads(by_kind["HEALTHCHECK"].partition("CMD ")[2])
    assert build_parser().parse_args(health[1:]).run.__name__ == "run_health"
    assert json.loads(by_kind["ENTRYPOINT"])[-1] == "lumen-tui"
    assert json.loads(by_kind["CMD"]) == ["--engine-only"]
    assert by_kind["USER"] == "lumen"
    init = next(rest for kind, rest in _instructions(root) if kind == "RUN" and rest.startswith("lumen-tui"))
    assert build_parser().parse_args(shlex.split(init)[1:]).run.__name__ == "run_init"


def test_the_devcontainer_calls_targets_that_are_there(root: Path) -> None:
    settings = json.loads((root / ".devcontainer" / "devcontainer.json").read_text())
    assert settings["postCreateCommand"] == "make .venv/.ready"
    assert re.search(r"^\$\(STAMP\):", (root / "Makefile").read_text(), re.MULTILINE)


def test_the_example_answers(root: Path, tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(bytes(70_000))
    words = [sys.executable, str(root / "examples" / "first-task.py"), f"What are the 5 largest files in {tmp_path}?"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=dict(os.environ), cwd=root)
    assert done.returncode == 0, done.stderr
    assert "large.bin" in done.stdout


def test_every_kind_of_alert_has_its_row_for_the_night(root: Path) -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (root / "docs" / "operations.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(Need)


def test_the_line_for_tmux_has_no_text_of_tasks(tmp_path: Path, capsys) -> None:
    state = ["--state", str(tmp_path / "state")]
    assert main(["init", *state]) == 0
    assert main(["task", "new", "#[fg=red]#(reboot)", *state]) == 0
    capsys.readouterr()
    assert main(["status", "--short", *state]) == 0
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert "1 queued" in line
    assert "#" not in line
