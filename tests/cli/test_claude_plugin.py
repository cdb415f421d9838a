"""The plug-in for Claude Code: what `hooks install` would write, a skill, and commands that are there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from lumen_tui import __version__
from lumen_tui.cli.main import main
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


def test_its_mcp_server_is_ours(tmp_path: Path) -> None:
    (server,) = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"].values()
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
    main(["--state", str(tmp_path / "state"), "init"])
    env = {**os.environ, "LUMEN_STATE": str(tmp_path / "state")}
    program = {"lumen-tui": [sys.executable, "-m", "lumen_tui"]}[server["command"]]
    done = subprocess.run(
        [*program, *server["args"]], input=json.dumps(hello) + "\n", capture_output=True, text=True, timeout=60, env=env
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["version"] == __version__
