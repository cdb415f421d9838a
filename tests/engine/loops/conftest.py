"""A main agent whose model is the local API server: real engine, real workers, a clock that can be moved on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lumen_clock import MovedClock
from lumen_folder import StateFolder
from lumen_until import AwaitedInLoop
from lumen_zygote import LentZygote, kill, lent

from lumen_tui.engine.beats import BeatReport
from lumen_tui.engine.engine import Engine
from lumen_tui.engine.events import recent_events
from lumen_tui.model.approvals import Approval
from lumen_tui.model.loop import LoopState, Packet
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import TaskView
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.task_records import read_json

CONFIG = "[heartbeat]\nevery_minutes = 5\n[workers]\nask_seconds = 0.2\nterm_seconds = 0.2\n"


class Office(StateFolder, AwaitedInLoop):
    """A state folder, its engines, and what they left."""

    BY = "ann"

    def __init__(self, root: Path, zygote: LentZygote) -> None:
        super().__init__(root, MovedClock())
        self._zygote = zygote
        self.layout.create()
        self.layout.config.write_text(CONFIG)
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = Engine.open(self.root, self.clock)
            self._zygote.lend(self._engine)
        return self._engine

    def crash(self) -> None:
        """What SIGKILL leaves: the lease is gone, nothing else is written."""
        kill(self._engine)
        self._engine = None

    async def beat(self, reason: str = "timer") -> BeatReport:
        return self.engine.beat(self.clock.now(), reason)

    def instead(self) -> object:
        return self.told()

    async def sleep(self, seconds: float) -> None:
        """Poll as the runner does."""
        await super().sleep(seconds)
        self.engine.poll(self.engine.clock.now())

    async def loop_over(self, number: int) -> Packet:
        """Wait for the packet of that loop."""
        await self.until(lambda: self.packets and self.packets[-1].loop >= number)
        return self.packets[-1]

    async def tasks_over(self, count: int) -> None:
        """Wait until so many tasks, the loops' own left out, are archived."""
        await self.until(lambda: len(list(self.layout.archive.glob("*/*/tsk-*"))) >= count)

    @property
    def packets(self) -> list[Packet]:
        return [msgspec.json.decode(line, type=Packet) for line in self.store.packets.lines()]

    @property
    def state(self) -> LoopState:
        found = read_json(self.layout.loop_state, LoopState)
        assert found is not None
        return found

    @property
    def tasks(self) -> list[str]:
        """All tasks but the loops' own."""
        return sorted(name for name in task_files.all_ids(self.layout) if not name.startswith("loop-"))

    async def asked(self) -> tuple[Approval, ...]:
        """The calls that wait for a person, once there are some."""
        await self.until(lambda: self.picture().approvals)
        return self.picture().approvals

    def picture(self) -> Snapshot:
        return SnapshotReader(self.root).snapshot(self.clock.now())

    def view(self, task_id: str) -> TaskView:
        return next(view for view in self.picture().tasks if view.id == task_id)

    def folder(self, task_id: str) -> Path:
        found = task_files.folder_of(self.layout, task_id)
        assert found is not None
        return found

    def told(self) -> list[tuple[str, str]]:
        return [(event.kind, event.text) for event in recent_events(self.store, 200)]

    def end(self) -> None:
        """Leave no process behind."""
        for path in self.layout.tasks.glob("*/run.lock"):
            (path.parent / "stop.json").write_text('{"status":"cancelled","reason":"the test is over"}')
        self.crash()


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LentZygote]:
    yield from lent(tmp_path_factory.mktemp("zygote") / "engine.log", "anthropic")


@pytest.fixture
def office(tmp_path: Path, api: Any, monkeypatch: pytest.MonkeyPatch, zygote: LentZygote) -> Iterator[Office]:
    for name, value in api.anthropic_env.items():
        monkeypatch.setenv(name, value)
    made = Office(tmp_path / "state", zygote)
    yield made
    made.end()
