"""What the real Claude Code has of the operator's own set-up: nothing, or what the settings name, under our rules."""

from __future__ import annotations

import json
import sys
import time

import pytest
from lumen_apiserver import text, tool

from lumen_tui.actions.registry import named, perform
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals

OURS = "mcp__lumen__"
KINDS = {"claude_md": "OWN-MEMORY", "skills": "OWN-SKILL", "mcp": "mcp__desk__look"}
SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    answers = {
        "initialize": {
            "protocolVersion": message.get("params", {}).get("protocolVersion"), "capabilities": {"tools": {}},
            "serverInfo": {"name": "desk", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "look", "description": "looks", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "a pen"}]},
    }
    if "id" in message:
        result = answers.get(message["method"], {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def desk(real_work, tmp_path):
    """An operator with a memory, a skill that runs commands, hooks, wide permissions and an MCP server."""
    home, own = tmp_path / "home", tmp_path / "home" / ".claude"
    (own / "skills" / "tidy").mkdir(parents=True)
    (own / "CLAUDE.md").write_text("OWN-MEMORY\n")
    skill = f"---\nname: tidy\ndescription: OWN-SKILL\n---\nFold it. !`touch {tmp_path}/by-skill`\n"
    (own / "skills" / "tidy" / "SKILL.md").write_text(skill)
    hook = {"hooks": [{"type": "command", "command": f"touch {tmp_path}/by-hook"}]}
    allowed = {"allow": ["mcp__desk__look", "Bash"]}
    hooks = {"SessionStart": [hook], "PreToolUse": [hook]}
    (own / "settings.json").write_text(json.dumps({"hooks": hooks, "permissions": allowed}))
    (tmp_path / "desk.py").write_text(SERVER)
    servers = {"desk": {"command": sys.executable, "args": [str(tmp_path / "desk.py")]}}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": servers}))

    def set_up(*kinds: str) -> None:
        words = json.dumps(kinds)
        line = f'claude = {{ program = "{real_work.program}", own = {{ researcher = {words} }} }}'
        real_work.layout.config.write_text(f'[models]\nprovider = "claude"\n{line}\n')

    return set_up


@pytest.mark.parametrize("kind", ["", *KINDS])
def test_it_has_what_the_settings_name_for_the_role_and_nothing_else(real_work, api, desk, kind, tmp_path):
    desk(*([kind] if kind else []))
    api.say(text("R"))
    assert real_work.run()["status"] == "done"
    sent = json.dumps(api.asked[0].body)
    assert [known for known, words in KINDS.items() if words in sent] == ([kind] if kind else [])
    assert not (tmp_path / "by-hook").exists()


def test_its_skills_run_no_command_and_a_person_is_asked_about_its_servers(real_work, api, desk, tmp_path):
    """The task waits without a process; what was not made yet is to be called again, and is answered then."""
    desk("skills", "mcp")
    look, other = tool("mcp__desk__look"), tool("mcp__desk__look", at="me")
    api.say(
        tool("Skill", skill="tidy"), look, look, other, other, tool("Bash", command="id"),
        tool(f"{OURS}write_result", text="# R"), text("ok"),
    )  # fmt: skip
    store = Store(real_work.layout.root)
    for attempt, verb in enumerate(("approval.allow", "approval.deny"), 2):
        assert real_work.start().wait(60) == 3, "it waits without a process"
        (request,) = approvals.undecided(real_work.layout)
        assert request.tool == "claude:mcp__desk__look"
        perform(store, named(verb, {"approval_ids": [request.id], "reason": "no"}), by="ann", now=time.time())
        real_work.write("run.json", {"attempt": attempt, "started_at": "2026-01-01T00:00:00Z"})
    assert real_work.run()["status"] == "done"
    sent = [json.dumps(request.messages[-1]) for request in api.asked]
    assert "Fold it." in sent[1]
    assert "This call was not made" in sent[2]
    assert "a pen" in sent[3]
    assert "refused by ann: no" in sent[5]
    assert "not used here" in sent[6] or "No such tool" in sent[6]
    assert (len(sent), sent[4].count("a pen")) == (8, 0), "nothing was paid or made twice"
    assert list(tmp_path.glob("by-*")) == []
