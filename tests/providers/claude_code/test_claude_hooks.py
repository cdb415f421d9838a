"""Our hooks under the real Claude Code, in a project of its own. Skipped where it is not installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import text, tool
from lumen_until import until

from lumen_tui.storage import locks
from lumen_tui.store.sessions import hook_journal

REPO = Path(__file__).resolve().parents[3]


class Project:
    """A folder with our hooks, work under way in it, and Claude Code at that work."""

    def __init__(self, top: Path, program: str, api: Any) -> None:
        self.folder, self.state, self._program = top / "project", top / "state", program
        for name in ("project", "home"):
            (top / name).mkdir()
        self._environ = {
            "PATH": os.environ["PATH"], "HOME": str(top / "home"), "LUMEN_OPERATOR": "ana", "PYTHONPATH": str(REPO),
            "DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1", **api.anthropic_env,
        }  # fmt: skip
        assert self.lumen("init").returncode == 0
        rule = "[memory.enforcement.auto_checkpoint]\nenabled = true\ninterval_tool_calls = 3\n"
        (self.state / "lumen.toml").write_text(rule)
        assert self.lumen("wu", "new", "Session manager", "--id", "WU-042").returncode == 0
        assert self.lumen("start", "--wu", "WU-042").returncode == 0
        assert self.lumen("hooks", "install").returncode == 0

    def lumen(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lumen_tui", "--state", str(self.state), *words]
        return subprocess.run(
            command, env=self._environ, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def claude(self, *prompts: str) -> None:
        """One session in which each prompt waits for the end of the one before."""
        command = [
            self._program, "-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json",
            "--permission-mode", "bypassPermissions", "--model", "claude-sonnet-5-5",
        ]  # fmt: skip
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=self.folder, env=self._environ, stdin=pipe, stdout=pipe, text=True) as child:
            assert child.stdin
            assert child.stdout
            left = list(prompts)
            self._say(child.stdin, left.pop(0))
            for line in child.stdout:
                if json.loads(line)["type"] != "result":
                    continue
                if not left:
                    child.stdin.close()
                    break
                self._say(child.stdin, left.pop(0))
            child.stdout.read()
        until(lambda: not locks.is_locked(self.state / hook_journal.LOCK), (self.state / hook_journal.NAME).read_text)

    def _say(self, stdin: Any, words: str) -> None:
        stdin.write(json.dumps({"type": "user", "message": {"role": "user", "content": words}}) + "\n")
        stdin.flush()

    def lines(self, event: str) -> list[dict[str, Any]]:
        found = map(json.loads, (self.state / hook_journal.NAME).read_bytes().splitlines())
        return [line for line in found if line["event"] == event]


@pytest.fixture
def project(real: str, api: Any, tmp_path: Path) -> Project:
    api.check = False  # it sends messages of kinds that are newer than the checks
    return Project(tmp_path, real, api)


def test_tool_calls_make_checkpoints_and_the_start_is_told_where_things_stand(project, api):
    path = str(project.folder / "a.txt")
    api.say(
        tool("Bash", command="echo hi", description="say hi"), tool("Write", file_path=path, content="one\n"),
        tool("Bash", command="exit 3", description="fail"), text("finished"),
    )  # fmt: skip
    project.claude("do the work")
    assert len(project.lines("PostToolUse")) == 2
    (third,) = project.lines("PostToolUseFailure")
    assert (third["ask"], third["calls"]) == ("tool_calls", 3)
    assert project.lines("Stop")
    (outcome,) = project.lines("outcome")
    assert outcome["ok"]
    done = "3 tool calls: changed a.txt; ran `echo hi`, `exit 3` (failed)"
    assert done in project.lumen("ready", "--wu", "WU-042").stdout
    (start,) = project.lines("SessionStart")
    assert (start["wu"], start["why"]) == ("WU-042", "startup")
    assert "Recovery of WU-042: Session manager" in json.dumps(api.asked[0].body)
    assert project.lumen("hooks", "status").returncode == 0


def test_a_sub_agent_and_a_compaction_make_checkpoints_and_what_was_saved_is_told_after_it(project, api):
    api.when(lambda request: "SUBAGENT" in request.first_text, text("sub done"))
    api.say(
        tool("Agent", description="sub", prompt="SUBAGENT look", subagent_type="general-purpose"), text("first"),
        text("<summary>what was done</summary>"), text("second"), text("third"),
    )  # fmt: skip
    project.claude("do the work", "/compact", "go on")
    assert "general-purpose" in [line.get("agent") for line in project.lines("SubagentStop")]
    (compaction,) = project.lines("PreCompact")
    assert compaction["why"] == "manual"
    assert [line["why"] for line in project.lines("SessionStart")] == ["startup", "compact"]
    answered = {one for line in project.lines("outcome") if line["ok"] for one in line["answers"]}
    asked = [*project.lines("SubagentStop"), compaction]
    assert {line["id"] for line in asked} == answered
    assert "a sub-agent stopped" in json.dumps(api.asked[-1].body)
