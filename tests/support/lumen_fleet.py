"""Hosts beside a state folder, the engine on it, and an operator's commands; with a wire, each on its own machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from lumen_hosts import LOOPBACK, Hosts
from lumen_program import lumen, start_lumen
from lumen_until import until
from lumen_wire import Namespace, Wire, listening

from lumen_tui.model.queueing import why
from lumen_tui.model.tasks import Exit, Run
from lumen_tui.queries.queue_conditions import read_queue_conditions
from lumen_tui.storage import locks, process
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.roles import list_roles
from lumen_tui.store.tasks import homes
from lumen_tui.store.tasks.task_index import TaskIndex
from lumen_tui.store.tasks.task_records import archived_folder, read_json

REPO = Path(__file__).resolve().parents[2]


class Fleet(Hosts):
    """An engine and its hosts as processes of this machine."""

    def __init__(self, layout: Layout, beside: Path, address: str = LOOPBACK) -> None:
        super().__init__(layout, beside, address)
        beside.mkdir(exist_ok=True)
        self.environ = {**os.environ, "LUMEN_STATE": str(layout.root), "LUMEN_OPERATOR": "ann", "PYTHONPATH": str(REPO)}
        self.engine: Any = None

    def lumen(self, *words: str, timeout: float = 120) -> Any:
        return lumen([*words], env=self.environ, cwd=self.beside, timeout=timeout)

    def drive(self) -> None:
        """Start an engine; it is there when this returns."""
        self.engine = self.start_engine()
        until(lambda: locks.is_locked(self.layout.engine_lock))

    def start_engine(self) -> Any:
        return start_lumen(["--engine-only"], env=self.environ, cwd=self.beside)

    def kill_engine(self) -> None:
        self.engine.kill()
        until(lambda: not locks.is_locked(self.layout.engine_lock))

    def kill_these(self, victims: str, task_id: str, host: str) -> None:
        """Kill all that the words name before the first of them comes back; start again what nobody else does."""
        if "engine" in victims:
            self.kill_engine()
        if "proxy" in victims:
            process.kill_lock_holders(str(self.layout.task(task_id) / "run.lock"))
        if "scheduler" in victims:
            self.kill_link()
        if "remote worker" in victims:
            process.kill_lock_holders(str(self.remote(host, task_id) / "run.lock"))
        if "Dask worker" in victims:
            self.kill(host)
            self.start(host)
        if "engine" in victims:
            self.drive()

    def close(self) -> None:
        if self.engine is not None:
            self.engine.kill()
        super().close()

    def order(self, objective: str, *words: str) -> str:
        """Queue a task, by its command; return its id."""
        ran = self.lumen("task", "new", objective, *words)
        assert ran.returncode == 0, ran.stderr
        return str(ran.stdout.strip())

    def task(self, task_id: str) -> Path:
        """The folder of a task, archived or not."""
        folder = self.layout.task(task_id)
        return folder if folder.exists() else archived_folder(self.layout.archive, task_id) or folder

    def ended(self, task_id: str) -> Exit | None:
        return read_json(self.task(task_id) / "exit.json", Exit)

    def frames(self, task_id: str) -> int:
        """Return how many frames of the attempt that runs are here."""
        run = read_json(self.task(task_id) / "run.json", Run)
        return homes.last_seq(self.task(task_id), run.attempt) if run is not None else 0

    def why_waits(self, task_id: str) -> str:
        index = TaskIndex(self.layout)
        index.refresh(now := time.time(), {})
        view = index.find(task_id)
        assert view is not None
        roles, retired, _ = list_roles(self.layout)
        return why(view, read_queue_conditions(self.layout, index.live(), roles, retired, now))

    def remote(self, host: str, task_id: str, attempt: int = 1) -> Path:
        return self.folder(host) / "tasks" / task_id / str(attempt) / "state" / "tasks" / task_id

    def instead(self) -> str:
        logs = [*self.beside.glob("*.log"), self.layout.link_log, *self.layout.tasks.glob("*/proxy.log")]
        return "\n".join(f"{path.name}: {path.read_text()[-1500:]}" for path in logs if path.exists())


class WiredFleet(Fleet):
    """Each on a machine of its own as far as the network is concerned: `wire` carries all that they send each other."""

    def __init__(self, layout: Layout, beside: Path, names: tuple[str, ...], seed: int = 0) -> None:
        self.wire = Wire(seed)
        self.machines = {name: Namespace() for name in ("engine", *names)}
        self.addresses = {name: self.wire.connect(machine) for name, machine in self.machines.items()}
        self.wire.start()
        self.doors: list[socket.socket] = []
        super().__init__(layout, beside, self.addresses["engine"])

    def prefix(self, name: str) -> list[str]:
        return self.machines[name].prefix

    def start_engine(self) -> Any:
        words = [*self.prefix("engine"), sys.executable, "-m", "lumen_tui", "--engine-only"]
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(words, env=self.environ, cwd=self.beside, stdin=nowhere, stdout=nowhere, stderr=nowhere)

    def offer(self, api: Any) -> None:
        """Let each host reach a model at its own loopback, whatever becomes of the wire."""
        for name in self.addresses.keys() - {"engine"}:
            door = listening(self.machines[name], api.server_port)
            self.doors.append(door)
            threading.Thread(target=_let_in, args=(api, door), daemon=True).start()

    def close(self) -> None:
        super().close()
        for door in self.doors:
            door.shutdown(socket.SHUT_RDWR)
            door.close()
        self.wire.close()
        for machine in self.machines.values():
            machine.close()


def _let_in(api: Any, door: socket.socket) -> None:
    """Hand connections to a server until the door is shut."""
    while True:
        try:
            api.process_request(*door.accept())
        except OSError:
            return
