"""The real Claude Code as a client of our MCP servers: of `lumen-tui mcp` by a setting and by the plug-in, and of
`lumen-tui serve` over streamable HTTP, added as the documentation says. Its model is a script.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lumen_machine
import pytest
from lumen_apiserver import ApiServer, Request, text, tool
from lumen_folder import StateFolder
from lumen_served import Served

from lumen_tui.model.access import Scope
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store.settings import access

ROOT = Path(__file__).resolve().parents[2]
DOCS, PLUGIN = ROOT / "docs", ROOT / "share" / "lumen-tui" / "claude-plugin"
pytestmark = pytest.mark.skipif(
    not lumen_machine.claude(), reason="Claude Code is not installed: put `claude` on PATH, or its path in LUMEN_CLAUDE"
)


class ClaudeUser:
    """A person with Claude Code, a home of their own, and a state folder."""

    def __init__(self, top: Path, api: ApiServer) -> None:
        self.folder = StateFolder(top / "state", SystemClock())
        self.folder.layout.create()
        self.home = top / "home"
        self.home.mkdir()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        state = {"LUMEN_STATE": str(self.folder.root), "CLAUDE_CONFIG_DIR": str(self.home / ".claude")}
        self.env = {"PATH": path, "HOME": str(self.home), **state, **api.anthropic_env}

    def claude(self, *words: str) -> str:
        done = subprocess.run(
            [lumen_machine.claude(), *words], capture_output=True, text=True, timeout=120, cwd=self.home, env=self.env
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def notes(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in (self.folder.layout.archival).read_bytes().splitlines()]


@pytest.fixture
def user(tmp_path: Path, api: ApiServer) -> ClaudeUser:
    api.when(lambda request: not request.body.get("tools"), text("A title"), again=True)  # it has its sessions named
    return ClaudeUser(tmp_path, api)


@pytest.fixture
def served(user: ClaudeUser) -> Iterator[Served]:
    """The same state folder over HTTP."""
    made = Served(user.folder.root)
    yield made.start()
    made.close()


def add_as_documented(user: ClaudeUser, served: Served, token: str) -> None:
    """Add the server with the line of the documentation, its address and token filled in."""
    lines = (DOCS / "mcp-server.md").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("claude mcp add --transport http")]
    filled = line.replace("http://127.0.0.1:8740", served.url).replace("$TOKEN", token)
    user.claude(*shlex.split(filled)[1:])


def worked(api: ApiServer) -> list[Request]:
    """The requests of the conversation itself."""
    return [request for request in api.asked if request.body.get("tools")]


def results(api: ApiServer) -> str:
    return json.dumps([request.messages[-1] for request in worked(api)[1:]])


def test_it_calls_tools_in_its_own_name(user: ClaudeUser, api: ApiServer) -> None:
    server = {"command": "lumen-tui", "args": ["--state", str(user.folder.root), "mcp"]}
    (user.home / "servers.json").write_text(json.dumps({"mcpServers": {"lumen": server}}))
    api.say(tool("mcp__lumen__remember", text="The pump is at 8080"), tool("mcp__lumen__status"), text("It is kept."))
    words = ["--mcp-config", "servers.json", "--strict-mcp-config", "--allowedTools", "mcp__lumen"]
    assert "It is kept." in user.claude("-p", "Remember the pump", *words)
    (note,) = user.notes()
    assert (note["content"], note["trust"]) == ("The pump is at 8080", "untrusted")
    assert note["created_by"] == "mcp:claude-code"
    assert '\\"agent\\"' in results(api)
    offered = json.dumps(worked(api)[0].body)
    assert "mcp__lumen__create_task" in offered
    assert "mcp__lumen__answer_approval" not in offered


def test_the_plug_in_brings_hooks_tools_and_a_skill_in_one_installation(user: ClaudeUser, api: ApiServer) -> None:
    assert "Validation passed" in user.claude("plugin", "validate", str(PLUGIN))
    user.claude("plugin", "marketplace", "add", str(PLUGIN))
    user.claude("plugin", "install", "lumen@lumen")
    assert "lumen@lumen" in user.claude("plugin", "list")
    api.say(tool("mcp__plugin_lumen_lumen__remember", text="The pump is at 8080"), text("It is kept."))
    user.claude("-p", "Remember the pump", "--allowedTools", "mcp__plugin_lumen_lumen")
    assert [note["content"] for note in user.notes()] == ["The pump is at 8080"]
    assert "lumen:lumen-memory" in json.dumps(worked(api)[0].body)
    events = (user.folder.layout.hook_events).read_text()
    assert '"SessionStart"' in events
    assert "mcp__plugin_lumen_lumen__remember" in events


def test_over_http_it_calls_tools_within_the_scopes_of_its_token(
    user: ClaudeUser, served: Served, api: ApiServer
) -> None:
    add_as_documented(user, served, served.token("laptop", Scope.READ, Scope.ACT))
    assert "Connected" in user.claude("mcp", "list")
    api.say(
        tool("mcp__lumen__remember", text="The pump is at 8080"),
        tool("mcp__lumen__search", query="pump"),
        tool("mcp__lumen__create_task", objective="Look at the pump"),
        text("It is kept."),
    )
    assert "It is kept." in user.claude("-p", "Remember the pump", "--allowedTools", "mcp__lumen")
    (note,) = user.notes()
    assert (note["content"], note["trust"], note["created_by"]) == ("The pump is at 8080", "untrusted", "mcp:laptop")
    (task,) = served.client("other").get("/v1/tasks").json()["tasks"]
    assert task["objective"] == "Look at the pump"
    assert "The pump is at 8080" in results(api)
    assert "mcp__lumen__answer_approval" not in json.dumps(worked(api)[0].body)
    assert "Bearer" not in served.log.read_text()


def test_over_http_a_token_that_is_revoked_ends_what_it_had(user: ClaudeUser, served: Served, api: ApiServer) -> None:
    add_as_documented(user, served, served.token("laptop", Scope.READ))
    assert "Connected" in user.claude("mcp", "list")
    access.revoke(user.folder.layout, "laptop")
    assert "Connected" not in user.claude("mcp", "list")
    api.say(text("There is no such tool."))
    user.claude("-p", "What is the status?", "--allowedTools", "mcp__lumen")
    assert "mcp__lumen__status" not in json.dumps(worked(api)[0].body)
