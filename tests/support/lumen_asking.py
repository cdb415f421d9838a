"""A state folder with a real engine, whose workers make calls that wait for a person; their model is a script."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lumen_apiserver import ApiServer, text, tool
from lumen_folder import StateFolder
from lumen_questions import asking_role, events_of
from lumen_until import until

from lumen_tui.model.approvals import Approval, Decision
from lumen_tui.storage import lease, process
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store import approvals

OBJECTIVE = "Do what asks first"
_CONFIG = '[heartbeat]\nsettle_seconds = 0.1\n[workers]\nlimit = 8\nretries = 0\n[models]\nprovider = "openai"\n'


class AskingFolder(StateFolder):
    """The folder. `start` runs an engine on it, `close` ends all that runs; workers may write to `project`."""

    def __init__(self, root: Path, settings: str = "") -> None:
        super().__init__(root, SystemClock())
        self.layout.create()
        self.project = root.parent / "project"
        self.project.mkdir()
        self.layout.config.write_text(f'{_CONFIG}[sandbox]\nwritable = ["{self.project}"]\n{settings}')
        self.layout.config.chmod(0o600)
        self.layout.role("builder").write_text(asking_role("shell", "write_result"))
        self.model = ApiServer()
        self._engine: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the engine and wait until it drives."""
        words = [sys.executable, "-m", "lumen_tui", "--engine-only", "--state", str(self.root)]
        env = {**os.environ, **self.model.openai_env, "LUMEN_OPERATOR": "ana"}
        self._engine = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL)
        until(lambda: lease.is_held(self.layout))

    def calls(self, *commands: str) -> None:
        """Let the worker of the task OBJECTIVE make these calls, one after the other."""
        answers = [tool("shell", command=command) for command in commands]
        ends = [tool("write_result", text="It is done."), text("done")]
        self.model.when(lambda request: OBJECTIVE in request.first_text, *answers, *ends)

    def order(self) -> None:
        """Give a worker the task OBJECTIVE."""
        self.do("task.new", objective=OBJECTIVE, role="builder")

    def question(self, command: str) -> Approval:
        """Wait until a call waits for a person, and return it."""
        until(lambda: self._undecided(command), lambda: approvals.undecided(self.layout))
        return self._undecided(command)[0]

    def _undecided(self, command: str) -> list[Approval]:
        return [one for one in approvals.undecided(self.layout) if one.arguments.get("command") == command]

    def decision(self, request: Approval) -> Decision | None:
        """Return the answer to a call."""
        return approvals.decision(self.layout, request.id)

    def events(self) -> list[str]:
        """Return what workers did."""
        return [
            f"{event['kind']}: {event.get('text', '')}"
            for path in self.layout.tasks.iterdir()
            for event in events_of(path)
        ]

    def close(self) -> None:
        """End engine, workers and model."""
        if self._engine is not None:
            self._engine.kill()
            self._engine.wait()
        for path in self.layout.tasks.glob("*/run.lock"):
            process.kill_lock_holders(str(path))
        self.model.close()
