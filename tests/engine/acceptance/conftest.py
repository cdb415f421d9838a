"""A state folder with a real engine and real workers; a local server speaks for the model, by a plan for each task."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import text, tool
from lumen_folder import BUILDER, StateFolder
from lumen_program import Child, start_lumen
from lumen_questions import events_of
from lumen_until import until

from lumen_tui.model.tasks import Exit, Run
from lumen_tui.storage import locks, process
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store.tasks.task_records import read_json

SETTINGS = """[heartbeat]
settle_seconds = 0.2
[models]
provider = "openai"
[workers]
limit = 4
check_minutes = {minutes}
[sandbox]
writable = ["{work}"]
"""
LIE = text("Done: all of it is there, and the tests pass.")
Steps = list[Any]


class Court(StateFolder):
    """Tasks with checks, what their workers do, and what becomes of them."""

    BY = "ann"

    def __init__(self, root: Path, api: Any, minutes: float = 1.0) -> None:
        super().__init__(root / "state", SystemClock())
        self.work = root / "work"
        self.work.mkdir()
        self.layout.create()
        self.layout.role("builder").write_text(BUILDER)
        self.settle(minutes)
        self._environ = {**os.environ, **api.openai_env}
        self._plans: dict[str, list[Steps]] = {}  # the steps of each attempt
        self._asked: dict[str, int] = {}
        self.prompts: dict[str, list[str]] = {}
        self.engines: list[Child] = []
        api.otherwise(self._answer)

    def settle(self, minutes: float) -> None:
        self.layout.config.write_text(SETTINGS.format(work=self.work, minutes=minutes))

    def _answer(self, request: Any) -> Any:
        said = "\n".join(str(message.get("content")) for message in request.messages)
        name = re.findall(r"job-[\w-]+", said)[0]
        if not request.called:
            self._asked[name] = self._asked.get(name, 0) + 1
            self.prompts.setdefault(name, []).append(said)
        plans = self._plans[name]
        plan = plans[min(self._asked[name], len(plans)) - 1]
        return plan[len(request.called)] if len(request.called) < len(plan) else LIE

    def task(self, name: str, accept: list[str], *attempts: Steps, **more: Any) -> str:
        """Queue job-NAME in a folder of its own; `attempts` are the steps of its workers, which then say it is done."""
        folder = self.work / name
        folder.mkdir(exist_ok=True)
        self._plans[f"job-{name}"] = list(attempts) or [[]]
        named = {"objective": f"Do job-{name}.", "role": "builder", "folder": str(folder), "accept": accept}
        return self.do("task.new", **{**named, **more}).target

    def start(self) -> Child:
        words = ["--engine-only", "--state", str(self.store.root)]
        self.engines.append(start_lumen(words, env=self._environ, cwd=self.store.root))
        return self.engines[-1]

    def kill_engine(self) -> None:
        self.engines[-1].kill()
        self.engines[-1].wait()

    def place(self, task_id: str) -> Path:
        folder = self.layout.task(task_id)
        return folder if folder.exists() else next(self.layout.archive.glob(f"*/*/{task_id}"))

    def has_ended(self, task_id: str) -> bool:
        return bool(
            (self.layout.task(task_id) / "exit.json").exists()
            or any(self.layout.archive.glob(f"*/*/{task_id}/exit.json"))
        )

    def ended(self, task_id: str) -> Exit:
        """How it ended, once it has."""
        until(lambda: self.has_ended(task_id), instead=lambda: self.events(task_id))
        record = read_json(self.place(task_id) / "exit.json", Exit)
        assert record is not None
        return record

    def verdict(self, task_id: str) -> tuple[str, str]:
        """The status it ended with, and what is proved of it."""
        record = self.ended(task_id)
        return record.status, str(record.acceptance.verdict) if record.acceptance else ""

    def events(self, task_id: str) -> list[dict[str, Any]]:
        return events_of(self.place(task_id))

    def told(self, task_id: str, kind: str) -> list[str]:
        return [event["text"] for event in self.events(task_id) if event["kind"] == kind]

    def kill_check(self, task_id: str) -> int:
        """Kill the process that checks the task; returns which it was."""
        run = read_json(self.layout.task(task_id) / "run.json", Run)
        assert run is not None
        os.kill(run.pid, signal.SIGKILL)
        return run.pid

    def until_checked(self, task_id: str, times: int = 1) -> None:
        """Wait until a check has begun so often, and its process holds the lock."""
        until(lambda: len(self.told(task_id, "check")) >= times, instead=lambda: self.events(task_id))
        assert locks.is_locked(self.layout.task(task_id) / "run.lock")

    def close(self) -> None:
        for engine in self.engines:
            engine.kill()
            engine.wait()
        for lock in self.layout.tasks.glob("*/run.lock"):
            process.kill_lock_holders(str(lock))

    def writes(self, path: str, content: str) -> Any:
        """The step of a worker that writes a file below the folder of all tasks."""
        target = self.work / path
        return tool("shell", command=f"mkdir -p {target.parent} && printf %s {shlex.quote(content)} > {target}")


@pytest.fixture
def court(tmp_path: Path, api: Any) -> Iterator[Court]:
    made = Court(tmp_path, api)
    yield made
    made.close()
