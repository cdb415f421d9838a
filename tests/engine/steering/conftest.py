"""An engine and real workers on the local API server, to which the operator speaks and who ask the operator."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lumen_clock import MovedClock
from lumen_folder import StateFolder
from lumen_questions import events_of
from lumen_until import AwaitedInLoop
from lumen_zygote import LentZygote, kill, lent

from lumen_tui.actions.outcome import Done
from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.engine import Engine
from lumen_tui.engine.events import recent_events
from lumen_tui.model.approvals import Approval
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import Run, TaskView
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store import approvals
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.task_records import has_worker, read_json

CONFIG = '[models]\nprovider = "anthropic"\ntries = 2\n[workers]\nask_seconds = 0.2\nterm_seconds = 0.2\n'
WORKER = """+++
purpose = "Does it."
tools = ["list_dir", "write_file", "write_result", "shell"]
shell = "any"
write = true
[limits]
max_steps = 6
+++
Work.
"""


class Desk(StateFolder, AwaitedInLoop):
    """A state folder, its engine, and the operator at it."""

    BY = "ann"

    def __init__(self, root: Path, zygote: LentZygote) -> None:
        super().__init__(root, MovedClock())
        self._zygote = zygote
        self.layout.create()
        self.layout.config.write_text(CONFIG)
        self.layout.role("doer").write_text(WORKER)
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = Engine.open(self.root, self.clock, loops=False)
            self._zygote.lend(self._engine)
        return self._engine

    def crash(self) -> None:
        """What SIGKILL leaves of an engine."""
        kill(self._engine)
        self._engine = None

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if self._engine is not None:
            self._engine.poll(self.clock.now())

    def instead(self) -> object:
        return [(event.kind, event.text) for event in recent_events(self.store, 50)], self.seen()

    def seen(self) -> list[tuple[str, str]]:
        folders = [*self.layout.tasks.glob("tsk-*"), *self.layout.archive.glob("*/*/tsk-*")]
        return [(event["kind"], event.get("text", "")) for folder in folders for event in events_of(folder)]

    def engine_events(self) -> list[dict[str, Any]]:
        """What the engine has recorded."""
        return [{"kind": event.kind, "task": event.task_id} for event in recent_events(self.store, 500)]

    def order(self, verb: str, **arguments: Any) -> Done:
        """Carry out a verb as the operator who was seen to be that."""
        request = named(verb, arguments)
        return perform(self.store, request, by=self.BY, now=self.clock.now(), order=True)

    def task(self, objective: str = "do it", **more: Any) -> str:
        name = self.order("task.new", objective=objective, role="doer", **more).target
        assert self.engine is not None
        return name

    def folder(self, task_id: str) -> Path:
        found = task_files.folder_of(self.layout, task_id)
        assert found is not None
        return found

    def picture(self) -> Snapshot:
        return SnapshotReader(self.root).snapshot(self.clock.now())

    def view(self, task_id: str) -> TaskView:
        return next(view for view in self.picture().tasks if view.id == task_id)

    async def over(self, task_id: str) -> str:
        """Wait until the task has ended; return how."""
        await self.until(lambda: (self.folder(task_id) / "collected.json").exists())
        return str(task_files.status_of(self.folder(task_id)))

    async def asked(self, task_id: str) -> Approval:
        """The question of a task, once it waits for the answer without a process."""
        await self.until(lambda: task_files.status_of(self.folder(task_id)) == "asking" and self.open_questions())
        assert not has_worker(self.folder(task_id))
        return self.open_questions()[0]

    async def taken(self, question: Approval) -> None:
        """Wait until a worker has the answer."""
        await self.until(lambda: approvals.acted(self.layout, question.id))

    def open_questions(self) -> list[Approval]:
        return [request for request in approvals.undecided(self.layout) if request.question]

    def pid(self, task_id: str) -> int:
        run = read_json(self.folder(task_id) / "run.json", Run)
        return run.pid if run else 0

    def result(self, task_id: str) -> str:
        return (self.folder(task_id) / "result.md").read_text()

    def events(self, task_id: str, *kinds: str) -> list[dict[str, Any]]:
        return [event for event in events_of(self.folder(task_id)) if not kinds or event["kind"] in kinds]

    def end(self) -> None:
        """Leave no process behind."""
        for path in self.layout.tasks.glob("*/run.lock"):
            (path.parent / "stop.json").write_text('{"status":"cancelled","reason":"the test is over"}')
        deadline = time.monotonic() + 5
        while any(has_worker(path) for path in self.layout.tasks.glob("tsk-*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.crash()


@pytest.fixture(scope="session")
def steering_zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LentZygote]:
    yield from lent(tmp_path_factory.mktemp("zygote") / "engine.log", "anthropic")


@pytest.fixture
def desk(tmp_path: Path, api: Any, monkeypatch: pytest.MonkeyPatch, steering_zygote: LentZygote) -> Iterator[Desk]:
    for name, value in api.anthropic_env.items():
        monkeypatch.setenv(name, value)
    made = Desk(tmp_path / "state", steering_zygote)
    yield made
    made.end()
