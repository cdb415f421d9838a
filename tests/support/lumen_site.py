"""A state folder with one task, whose engine and worker are real processes that can be killed."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from lumen_folder import StateFolder
from lumen_program import Child, start_lumen
from lumen_questions import question_of
from lumen_until import until

from lumen_tui.model.approvals import Approval
from lumen_tui.model.tasks import Run
from lumen_tui.storage import locks, process
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store.tasks.task_records import read_json

CONFIG = "[heartbeat]\nsettle_seconds = 0.2\n[workers]\nwarm_minutes = 0\n"


class Site(StateFolder):
    """A state folder whose engine and worker can be killed."""

    BY = "ann"

    def __init__(self, root: Path, environ: dict[str, str], role: str, config: str, **task: Any) -> None:
        super().__init__(root, SystemClock())
        self._environ = {**os.environ, **environ}
        self.layout.create()
        self.layout.role("builder").write_text(role)
        self.layout.config.write_text(CONFIG + config)
        self.engines: list[Child] = []
        self.id = self.do("task.new", **{"objective": "do it", "role": "builder", **task}).target
        self.folder = self.layout.task(self.id)

    def start(self) -> None:
        words = ["--engine-only", "--state", str(self.store.root)]
        self.engines.append(start_lumen(words, env=self._environ, cwd=self.store.root))

    def question(self, attempt: int = 1) -> Approval:
        """The one question, once the worker of that attempt waits for its answer."""
        until(lambda: question_of(self.layout, self.folder, attempt))
        request = question_of(self.layout, self.folder, attempt)
        assert request is not None
        return request

    def kill(self) -> None:
        """End engine and worker, at once."""
        self.kill_engine()
        self.kill_worker()
        until(lambda: not locks.is_locked(self.folder / "run.lock"))

    def kill_engine(self) -> None:
        self.engines[-1].kill()
        self.engines[-1].wait()

    def kill_worker(self) -> None:
        run = read_json(self.folder / "run.json", Run)
        if run is not None and run.pid and locks.is_locked(self.folder / "run.lock"):
            os.kill(run.pid, signal.SIGKILL)

    def place(self) -> Path:
        return self.folder if self.folder.exists() else next(self.layout.archive.glob(f"*/*/{self.id}"))

    def ended(self) -> str:
        """How it ended, once it has."""
        until(lambda: any(self.layout.archive.glob(f"*/*/{self.id}/exit.json")) or (self.folder / "exit.json").exists())
        status: str = json.loads((self.place() / "exit.json").read_bytes())["status"]
        return status

    def made(self) -> str:
        path = self.place() / "files" / "made"
        return path.read_text() if path.exists() else ""

    def close(self) -> None:
        for engine in self.engines:
            engine.kill()
            engine.wait()
        process.kill_lock_holders(str(self.folder / "run.lock"))
