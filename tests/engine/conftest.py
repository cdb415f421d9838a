"""An engine on a real state folder with a clock that only the test moves."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lumen_folder import StateFolder
from lumen_until import AwaitedInLoop
from lumen_zygote import LentZygote, kill, lent

from lumen_tui.actions.killing import end_all
from lumen_tui.engine.engine import Engine
from lumen_tui.engine.events import recent_events
from lumen_tui.store.tasks.pauses import Kill

START = 1_790_000_000.0


class FakeClock:
    """Wall time and running time, moved by hand."""

    def __init__(self, now: float = START) -> None:
        self.wall, self.ran, self.slept = now, 1000.0, 0.0

    def now(self) -> float:
        return self.wall

    def running(self) -> float:
        return self.ran

    def awake(self) -> float:
        return self.ran - self.slept

    def sleep(self, seconds: float) -> None:
        """The machine sleeps."""
        self.pass_time(seconds)
        self.slept += seconds

    def pass_time(self, seconds: float) -> float:
        """Let time go by; returns the new `now`."""
        self.wall += seconds
        self.ran += seconds
        return self.wall


class World(StateFolder, AwaitedInLoop):
    """A state folder, its clock, and the engines that come and go on it."""

    BY = "ann"

    def __init__(self, root: Path, zygote: LentZygote) -> None:
        super().__init__(root, FakeClock())
        self._zygote = zygote
        self.layout.create()
        self._engine: Engine | None = None

    def engine(self) -> Engine:
        """The engine that drives now; the first call opens it."""
        if self._engine is None:
            self._engine = Engine.open(self.root, self.clock)
            self._zygote.lend(self._engine)
        return self._engine

    def crash(self) -> None:
        """What SIGKILL leaves: the lease is gone, nothing else is written."""
        kill(self._engine)
        self._engine = None

    def task(self, objective: str = "What are the 5 largest files in /etc?", **arguments: object) -> str:
        return self.do("task.new", objective=objective, **arguments).target

    def instead(self) -> object:
        return recent_events(self.store, 200)

    async def beat(self) -> object:
        return self.engine().beat(self.clock.now())

    def status(self, task_id: str) -> str:
        """The status from evidence, as a fresh reader sees it."""
        from lumen_tui.queries.snapshot_reader import SnapshotReader

        reader = SnapshotReader(self.root)
        reader.load(self.clock.now())
        view = reader.tasks.find(task_id)
        assert view is not None
        return str(view.status)


@pytest.fixture(scope="session")
def offline_zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LentZygote]:
    yield from lent(tmp_path_factory.mktemp("zygote") / "engine.log", "offline")


@pytest.fixture
def world(tmp_path: Path, offline_zygote: LentZygote) -> Iterator[World]:
    made = World(tmp_path / "state", offline_zygote)
    yield made
    made.crash()
    end_all(made.layout, Kill(by="the test"), made.clock.now(), time.monotonic)


@pytest.fixture
def certificate(tmp_path: Path) -> str:
    """A certificate of this machine that nobody vouches for, with its key; without that it is `only.pem` beside it."""
    if not shutil.which("openssl"):
        pytest.skip("openssl, which makes the certificate, is not here")
    path = tmp_path / "server.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
         "-keyout", path, "-out", tmp_path / "only.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_bytes(path.read_bytes() + (tmp_path / "only.pem").read_bytes())
    return str(path)
