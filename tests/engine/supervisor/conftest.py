"""Real workers and engines, and a world whose clock only the test moves."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from lumen_until import until
from lumen_zygote import LentZygote

from lumen_tui.engine.engine import Engine
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.liveness import Clocks
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import Run, TaskView
from lumen_tui.model.times import iso
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import files, process

HERE = Path(__file__).parent
HOLDER = """
import fcntl, os, subprocess, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(fd, fcntl.LOCK_EX)
if len(sys.argv) > 2:
    os.set_inheritable(fd, True)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False, start_new_session=True)
print(1, flush=True)
time.sleep(60)
"""


def load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


base = load("engine_conftest_for_supervisor", HERE.parent / "conftest.py")


class Room:
    """What a room sees: one reader with the clocks of the world."""

    def __init__(self, world: World) -> None:
        self.world, self.reader = world, SnapshotReader(world.root)
        clock = world.clock
        self.reader.clocks = lambda: Clocks(clock.running(), clock.awake(), process.boot_id())

    def look(self) -> Snapshot:
        return self.reader.snapshot(self.world.clock.now())

    def task(self, task_id: str) -> TaskView:
        self.look()
        found = self.reader.tasks.find(task_id)
        assert found is not None
        return found


class World(base.World):
    """A state folder with engines, workers that only hold their lock, and a room."""

    def __init__(self, root: Path, zygote: LentZygote) -> None:
        super().__init__(root, zygote)
        self.children: list[subprocess.Popen[bytes]] = []
        self.room = Room(self)

    def hold(self, task_id: str, *, inherit: bool = False, attempt: int = 1) -> subprocess.Popen[bytes]:
        """A process that holds the task's lock and says nothing; with `inherit` its child holds it too."""
        folder = self.layout.task(task_id)
        words = [sys.executable, "-c", HOLDER, str(folder / "run.lock"), *(["inherit"] if inherit else [])]
        child = self.run(*words)
        self.name(task_id, child.pid, attempt)
        return child

    def run(self, *words: str) -> subprocess.Popen[bytes]:
        """A process that has said its first line."""
        child = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
        self.children.append(child)
        assert child.stdout is not None
        child.stdout.readline()
        return child

    def name(self, task_id: str, pid: int, attempt: int = 1) -> None:
        """Let run.json name a process."""
        me = process.identify(pid)
        run = Run(attempt, iso(self.clock.now()), me.pid, me.start_ticks, me.boot_id)
        files.replace(self.layout.task(task_id) / "run.json", msgspec.json.encode(run))

    def port(self) -> RemotePort:
        """A front end on the machine's own clocks."""
        return RemotePort(self.root, "ann")

    def open(self) -> Engine:
        engine: Engine = self.engine()
        return engine

    def clean(self) -> None:
        self.crash()
        for path in self.layout.tasks.glob("*/run.lock"):
            process.kill_lock_holders(str(path))
        for child in self.children:
            child.kill()
            child.wait()


@pytest.fixture
def world(tmp_path: Path, offline_zygote: LentZygote) -> Iterator[World]:
    made = World(tmp_path / "state", offline_zygote)
    yield made
    made.clean()


@pytest.fixture
def hammering() -> ModuleType:
    return load("liveness_hammer", HERE / "hammer.py")


class Driver:
    """An engine in a process of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.child = subprocess.Popen(
            [sys.executable, "-m", "lumen_tui", "--engine-only", "--state", str(root)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def zygote(self) -> int:
        """The pid of its zygote once there is one that has all imported."""
        found: list[int] = []

        def there() -> bool:
            found[:] = [pid for pid in pids() if parent(pid) == self.child.pid and comm(pid) == "lumen-zygote"]
            return bool(found) and process.state_letter(found[0]) == "S"

        until(there)
        return found[0]

    def end(self) -> None:
        self.child.send_signal(signal.SIGCONT)
        self.child.kill()
        self.child.wait()


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def parent(pid: int) -> int:
    fields = process._stat_fields(pid)
    return int(fields[1]) if fields else 0


def comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


@pytest.fixture
def drive(world: World) -> Iterator[Callable[[], Driver]]:
    made: list[Driver] = []

    def start() -> Driver:
        made.append(Driver(world.root))
        return made[-1]

    yield start
    for one in made:
        one.end()
