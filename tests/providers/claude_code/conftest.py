"""Claude Code in workers and without: a program that plays recordings of it, and the real one where it is installed."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_program import Child, start_worker
from lumen_task import TaskFolder
from msgspec import Struct, field

from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.media import Media
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.providers.base import (
    BuiltinToolResult,
    ConversationOutcome,
    Job,
    PermissionRequest,
    ProviderError,
    Reserve,
    Spent,
    TextUpdate,
    ToolCall,
    Tuning,
)
from lumen_tui.providers.choose import choose_provider
from lumen_tui.providers.claude_code import program
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.tools.sandbox.limits import descendants

HERE = Path(__file__).resolve().parent
FOREIGN = "box-secret-0123456789"
Steps = list[dict[str, Any]]


class Reply(Struct):
    text: str = "done"
    ok: bool = True
    data: dict[str, Any] = {}
    media: tuple[Media, ...] = ()


class Tool(Struct):
    name: str
    description: str = "a tool"
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


class Talk(Struct):
    """What came of a conversation."""

    steps: list[Any] = []
    outcome: ConversationOutcome | None = None
    error: str = ""

    def of(self, kind: type) -> list[Any]:
        return [step for step in self.steps if isinstance(step, kind)]

    def said(self, kind: str) -> str:
        return "".join(step.text for step in self.of(TextUpdate) if step.kind == kind)

    @property
    def order(self) -> str:
        """The steps by their first letters, what was said left out."""
        names = {Reserve: "R", Spent: "S", ToolCall: "T", PermissionRequest: "P", BuiltinToolResult: "r"}
        return "".join(names.get(type(step), "") for step in self.steps)


class Fake:
    """A `claude` that plays a recording."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        self.home = folder / "home"
        (self.home / ".claude").mkdir(parents=True)
        self.program = folder / "bin" / "claude"
        self.environ = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": str(self.home), "BOX_KEY": FOREIGN}
        self.settings: dict[str, Any] = {"provider": "claude", "first_byte_seconds": 5.0, "silence_seconds": 5.0}
        self.tools = tuple(map(Tool, ("read_file", "list_dir", "write_result")))

    def plays(self, name: str, change: Callable[[Steps], Steps] = lambda steps: steps) -> None:
        """From now on it plays that recording, with changes."""
        steps = [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text().splitlines()]
        self.runs(change(steps))

    def runs(self, steps: Steps) -> None:
        recording = self.folder / "bin" / "recording.jsonl"
        recording.write_text("".join(json.dumps(step) + "\n" for step in steps))
        words = f'#!/bin/sh\nexec "{sys.executable}" "{HERE}/fake_claude.py" "{recording}" "$@"\n'
        self.program.write_text(words)
        self.program.chmod(0o755)

    def talk(
        self, reply: Callable[[Any], Reply] = lambda step: Reply(), objective: str = "/look @here",
        look: Callable[[Any], None] = lambda step: None, tuning: Tuning | None = None,
    ) -> Talk:  # fmt: skip
        """Drive one conversation as the worker does; `look` is called with each step before it goes on, and with `sent`
        where it says that a request leaves now."""
        talk, answer = Talk(), None

        def note(step: Any) -> None:
            talk.steps.append(step)
            look(step)

        job = Job(
            "be good", objective, context="old", tools=self.tools, now=lambda: 1000.0, sent=lambda: note("sent"),
            tuning=tuning or Tuning()
        )  # fmt: skip
        role, spec = Role(name="researcher", purpose="p", tier="sonnet"), Spec(id="tsk-a", objective="o")
        try:
            conversation = choose_provider(ModelsConfig(**self.settings), role, spec, self.environ).converse(job)
            while True:
                step = conversation.send(answer)
                note(step)
                answer = reply(step) if isinstance(step, ToolCall | PermissionRequest) else None
        except StopIteration as end:
            talk.outcome = end.value
        except ProviderError as error:
            talk.error = str(error)
        return talk

    @property
    def heard(self) -> Steps:
        return [json.loads(line) for line in (self.home / ".claude" / "heard.jsonl").read_text().splitlines()]

    def answers(self, key: str) -> Steps:
        """What it was answered, where that names the key."""
        found = [one["response"].get("response", {}) for one in self.heard if one.get("type") == "control_response"]
        return [one for one in found if key in one]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)


class Work(TaskFolder):
    """A task, and a worker on it that uses Claude Code."""

    def __init__(self, root: Path, program: Path, environ: dict[str, str]) -> None:
        layout = Layout(root)
        layout.create()
        super().__init__(layout)
        self.program, self.environ = program, environ
        self.settings()
        self.spec()
        self.child: Child | None = None

    def settings(self, more: str = "") -> None:
        own = f'claude = {{ program = "{self.program}" }}'
        self.layout.config.write_text(f'[models]\nprovider = "claude"\ntries = 2\n{own}\n{more}')

    def spec(self, role: str = "researcher", **more: Any) -> None:
        spec = {"id": self.id, "objective": "look around", "role": role, "model": "sonnet", **more}
        self.write("spec.json", spec)

    def role(self, name: str, rules: str) -> None:
        path = self.layout.roles / f"{name}.md"
        text = f'+++\npurpose = "p"\ntools = ["read_file", "list_dir", "write_result"]\n{rules}\n+++\nBe good.\n'
        files.replace(path, text.encode())
        self.spec(name)

    def start(self) -> Child:
        self.child = start_worker(self.folder, self.environ)
        return self.child

    def run(self) -> dict[str, Any]:
        self.start().wait(60)
        return self.exit

    def texts(self, kind: str) -> list[str]:
        """What the events of a kind say, after the tool that they name."""
        return [f"{event.get('tool', '')} {event['text']}".strip() for event in self.kinds(kind)]

    def below(self) -> list[int]:
        """The processes that the worker has started."""
        return descendants([self.child.pid])[1:] if self.child else []

    def book(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.layout.root / "spend.jsonl").read_bytes().splitlines()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _ended(work: Work) -> None:
    if work.child is not None:
        work.child.kill()
        work.child.wait()


@pytest.fixture
def work(fake: Fake, tmp_path: Path) -> Iterator[Work]:
    """With the program that plays recordings."""
    found = Work(tmp_path / "state", fake.program, {**fake.environ, "ANTHROPIC_API_KEY": "sk-ant-any-0123456789"})
    yield found
    _ended(found)


def _real() -> str:
    return os.environ.get("LUMEN_CLAUDE") or shutil.which("claude") or ""


@functools.cache
def _version(program: str) -> str:
    """What it says of itself: `2.1.330 (Claude Code)`."""
    told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True)
    return told.stdout.partition(" ")[0]


@pytest.fixture
def real() -> str:
    """The real program."""
    if not _real():
        pytest.skip("Claude Code is not installed: put `claude` on PATH, or its path in LUMEN_CLAUDE")
    try:
        program.check_version(_version(_real()))
    except ProviderError as error:
        pytest.skip(str(error))
    return _real()


@pytest.fixture
def real_work(real: str, tmp_path: Path, api: Any) -> Iterator[Work]:
    """With the real program, on the local API server."""
    home = tmp_path / "home"
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), **api.anthropic_env}
    found = Work(tmp_path / "state", Path(real), environ)
    yield found
    _ended(found)


@pytest.fixture
def reply() -> type[Reply]:
    return Reply


@pytest.fixture(name="is_alive")
def _is_alive() -> Callable[[int], bool]:
    return is_alive
