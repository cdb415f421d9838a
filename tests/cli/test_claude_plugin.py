"""The plug-in for Claude Code: what `hooks install` would write, a skill, and commands that are there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lumen_tui import __version__
from lumen_tui.cli.parser import COMMANDS
from lumen_tui.engine.hooks import settings

PLUGIN = Path(__file__).resolve().parents[2] / "share" / "lumen-tui" / "claude-plugin"


def test_its_hooks_are_those_that_are_installed_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    settings.install(path, ["lumen-tui"], tmp_path)
    installed = json.loads(path.read_text())["hooks"]
    text = json.dumps(installed).replace(f" --state {tmp_path}", "")
    assert json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"] == json.loads(text)


def test_it_has_the_version_of_the_program() -> None:
    assert json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())["version"] == __version__


def test_its_skill_names_commands_that_are_there() -> None:
    text = (PLUGIN / "skills" / "lumen-memory" / "SKILL.md").read_text()
    assert text.startswith("---\nname: lumen-memory\n")
    used = set(re.findall(r"`lumen-tui ([a-z-]+)", text))
    assert used
    assert used <= set(COMMANDS)


@pytest.mark.skipif(not shutil.which("claude"), reason="needs claude")
def test_claude_code_takes_it_and_installs_it(tmp_path: Path) -> None:
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(tmp_path / "config"), "HOME": str(tmp_path)}
    orders = (["validate", str(PLUGIN)], ["marketplace", "add", str(PLUGIN)], ["install", "lumen@lumen"], ["list"])
    for order in orders:
        words = ["claude", "plugin", *order]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "lumen@lumen" in done.stdout
