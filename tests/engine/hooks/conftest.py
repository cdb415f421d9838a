"""An agent's program at work: its hooks as real processes on a real state folder."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import IO, Any

import pytest
from lumen_program import Child, lumen, lumen_bytes, start_lumen
from lumen_until import Awaited

from lumen_tui.storage import locks
from lumen_tui.storage.layout import Layout
from lumen_tui.store.sessions import hook_journal

REPO = Path(__file__).resolve().parents[3]
SAMPLES: dict[str, dict[str, Any]] = {
    "PostToolUse": {
        "tool_name": "Edit", "tool_input": {"file_path": "/p/a.py", "old_string": "a", "new_string": "b"},
        "tool_response": {"filePath": "/p/a.py", "success": True}, "tool_use_id": "toolu_01ABC",
    },
    "SubagentStop": {
        "stop_hook_active": False, "agent_id": "agent-1", "agent_type": "Explore",
        "agent_transcript_path": "/t/agent-1.jsonl", "last_assistant_message": "done",
    },
    "PreCompact": {"trigger": "auto", "custom_instructions": ""},
    "SessionStart": {"source": "startup", "model": "claude-sonnet-5-5"},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "done"},
    "PostToolUseFailure": {
        "tool_name": "Bash", "tool_input": {"command": "false"}, "error": "Exit code 1", "is_interrupt": False,
        "tool_use_id": "toolu_02ABC",
    },
}  # fmt: skip


class Agent(Awaited):
    """`agent("PostToolUse", tool_name="Bash")` runs the hook as the agent's program does."""

    def __init__(self, root: Path, project: Path) -> None:
        self.root, self.project = root, project
        self.layout = Layout(root)
        self.environ = {**os.environ, "LUMEN_OPERATOR": "ana", "PYTHONPATH": str(REPO)}
        self.environ.pop("LUMEN_STATE", None)

    def words(self, event: str) -> list[str]:
        return ["hook", event, "--state", str(self.root)]

    def sample(self, event: str, session: str = "5f0c-1", **fields: Any) -> bytes:
        common = {
            "session_id": session, "transcript_path": "/t/1.jsonl", "cwd": str(self.project),
            "permission_mode": "default", "hook_event_name": event,
        }  # fmt: skip
        return json.dumps({**common, **SAMPLES[event], **fields}).encode()

    def raw(self, event: str, data: bytes, **environ: str) -> subprocess.CompletedProcess[bytes]:
        return lumen_bytes(self.words(event), stdin=data, env={**self.environ, **environ}, cwd=self.project)

    def start(self, event: str, stdin: IO[bytes]) -> Child:
        """Start one and do not wait for it."""
        return start_lumen(self.words(event), env=self.environ, cwd=self.project, stdin=stdin)

    def __call__(self, event: str, session: str = "5f0c-1", **fields: Any) -> str:
        """Run one hook; what it prints. It must exit 0 and complain of nothing."""
        ran = self.raw(event, self.sample(event, session, **fields))
        assert (ran.returncode, ran.stderr) == (0, b"")
        return ran.stdout.decode()

    def lumen(self, *words: str) -> subprocess.CompletedProcess[str]:
        return lumen(["--state", str(self.root), *words], env=self.environ, cwd=self.project)

    def lines(self, event: str = "") -> list[dict[str, Any]]:
        path = self.root / hook_journal.NAME
        found = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
        return [line for line in found if event in ("", line["event"])]

    def instead(self) -> object:
        return self.lines(), (self.root / hook_journal.LOG).read_text()

    def quiet(self) -> None:
        """Until the background has nothing left to do."""
        lock = self.root / hook_journal.LOCK
        self.until(lambda: not locks.is_locked(lock))

    def checkpoints(self) -> list[dict[str, Any]]:
        nodes = [json.loads(line) for line in self.layout.memory.read_bytes().splitlines()]
        return [node for node in nodes if node["type"] == "checkpoint"]

    def settings(self, text: str) -> None:
        self.layout.config.write_text(text)


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """With an open work session on WU-042 in the project."""
    project = tmp_path / "project"
    project.mkdir()
    made = Agent(tmp_path / "state", project)
    made.layout.create()
    assert made.lumen("wu", "new", "Session manager", "--id", "WU-042").returncode == 0
    assert made.lumen("start", "--wu", "WU-042").returncode == 0
    return made
