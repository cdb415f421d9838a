"""A state folder with tasks, and the folder of a host that does them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from lumen_apiserver import ApiServer
from lumen_fleet import Fleet
from lumen_folder import StateFolder
from lumen_scripted import Scripted

pytest.importorskip("cryptography", reason="hosts need the extra of that name: pip install 'lumen-tui[hosts]'")

from lumen_tui.hosts.ask_handler import AskHandler
from lumen_tui.hosts.certificates import ENGINE, HOST, Authority, Credentials
from lumen_tui.hosts.copying import Copier
from lumen_tui.hosts.downlink import Downlink
from lumen_tui.hosts.packing import pack
from lumen_tui.hosts.remote_task import HostFolder, RemoteTask
from lumen_tui.hosts.service import HostCaller
from lumen_tui.hosts.task_link import TaskLink
from lumen_tui.model.frames import HostOrder
from lumen_tui.model.tasks import Spec
from lumen_tui.model.transcript import session_id
from lumen_tui.storage import process
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store.tasks import task_records


class Home(StateFolder):
    """Where tasks are ordered, and where what became of them comes home."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, time.time())
        self.layout.create()
        self._handlers: dict[tuple[str, int], AskHandler] = {}
        self._downlinks: dict[tuple[str, int], Downlink] = {}

    def task(self, objective: str = "What are the 3 largest files in /etc?", **more: object) -> str:
        return self.do("task.new", objective=objective, **more).target

    def order(self, task_id: str, attempt: int = 1) -> HostOrder:
        return pack(self.layout, self.spec(task_id), attempt)

    def copier(self, task_id: str, attempt: int = 1) -> Copier:
        folder = self.layout.task(task_id)
        transcript = self.layout.transcript(session_id(self.spec(task_id), attempt))
        return Copier(folder, transcript, attempt, "attic")

    def tend(self, task: RemoteTask) -> bool:
        """Do once what the engine's side of a link does all the time; return whether the worker lives."""
        state = task.state()
        self.fetch(task)
        key = task.task_id, task.attempt
        if key not in self._handlers:
            self._handlers[key] = AskHandler(self.layout, self.spec(task.task_id), task.attempt, time.time)
            self._downlinks[key] = Downlink(self.layout.task(task.task_id), task.attempt)
        self._handlers[key].serve()
        for demand in self._downlinks[key].news(state.told):
            task.order(demand.name, demand.data, demand.offset)
        return state.alive

    def link(self, caller: HostCaller, host: str, task_id: str, attempt: int = 1) -> TaskLink:
        ask = partial(caller.ask, host)
        return TaskLink(ask, self.layout, self.spec(task_id), attempt, host, time.time)

    def handler(self, task_id: str, attempt: int = 1) -> AskHandler:
        return self._handlers[task_id, attempt]

    def spec(self, task_id: str) -> Spec:
        return task_records.read_spec(self.layout.task(task_id))

    def fetch(self, task: RemoteTask) -> int:
        """Take in all that an attempt has sent; returns the number of its last frame."""
        copier = self.copier(task.task_id, task.attempt)
        while batch := task.after(copier.seq):
            copier.take(batch)
        return copier.seq


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HostFolder]:
    root = tmp_path / "host"
    root.mkdir()
    yield HostFolder(root, SystemClock())
    for path in root.rglob("run.lock"):
        process.kill_lock_holders(str(path))


@pytest.fixture
def server(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """A model that this host, and nobody else, has a key for."""
    scripted = Scripted(api)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", scripted.url)
    return scripted


class Issuer:
    """Who vouches for the engine and its hosts, or pretends to; their files are beside its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.authority = Authority(root / "authority")
        self.authority.create(time.time())

    def give(self, name: str, kind: str = HOST) -> Credentials:
        path = self.root / f"{kind}-{name}.pem"
        path.write_bytes(self.authority.issue(name, kind, time.time()))
        return Credentials(path, time.time())

    def engine(self) -> Credentials:
        return self.give("engine", ENGINE)


@pytest.fixture
def issuer(tmp_path: Path) -> Issuer:
    return Issuer(tmp_path / "ours")


@pytest.fixture
def forger(tmp_path: Path) -> Issuer:
    return Issuer(tmp_path / "theirs")


@pytest.fixture
def fleet(home: Home, tmp_path: Path, sandbox: None) -> Iterator[Fleet]:
    """A folder of tasks with an engine, once it drives, and hosts as processes beside it."""
    pytest.importorskip("distributed", reason="hosts need the extra of that name: pip install 'lumen-tui[hosts]'")
    made = Fleet(home.layout, tmp_path / "hosts")
    yield made
    made.close()
