"""Where the worker of a task runs: the border between the dispatcher, which decides that a task starts, and processes.

Whatever is behind the border, a process on this machine holds the task's run.lock for as long as its worker is at it.
So who lives, is adopted, is lost or has to end is told by the lock, whoever started it and wherever it works.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from lumen_tui.engine.supervisor import workers
from lumen_tui.engine.supervisor.workers import Started
from lumen_tui.engine.supervisor.zygote import ZygoteClient
from lumen_tui.model.tasks import Spec


class StartOrder(Struct, frozen=True):
    """A task that is to have a worker now. `keys` names the API keys that its models need."""

    task_id: str
    folder: Path
    keys: tuple[str, ...]
    epoch: int
    now: float


class ExecutionBackend(Protocol):
    """One kind of place where workers run."""

    def start(self, order: StartOrder) -> Started | None:
        """Start a worker; None where one is at the task already. NoProcess where none can be had now."""
        ...

    def has_ended(self) -> bool:
        """Return whether a worker has ended and was not reaped yet. Costs no more than a look at its processes."""
        ...

    def reap(self) -> dict[str, int]:
        """Return the exit codes, negative for a signal, of workers that ended since the last call, by task."""
        ...

    def keep_only(self, tasks: Set[str]) -> None:
        """Forget the workers of all other tasks."""
        ...

    def close(self) -> None:
        """Let go of everything; workers go on."""
        ...


class LocalBackend:
    """Workers as processes of this machine: forked from the zygote where there is one, else started cold."""

    def __init__(self, log: Path, watch_fd: Callable[[int], None]) -> None:
        """Have the engine woken by what `watch_fd` is given. What a zygote says goes to `log`."""
        self.zygote = ZygoteClient(log)
        self._watch_fd = watch_fd
        self._kind = "offline"
        self._busy = True  # whether a task was started since the last zygote was made
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._warm: dict[int, str] = {}  # pid -> task of the zygote's children

    def configure(self, kind: str) -> None:
        """Have a zygote load what this kind of provider needs (see providers.preload)."""
        self._kind = kind

    def warm_up(self, minutes: float) -> None:
        """Have a zygote at hand: one, and after it has ended another only once there was work again."""
        if minutes > 0 and self.zygote.pid == 0 and self._busy:
            self._busy = False
            self.zygote.launch(self._kind, workers.worker_env(()), minutes * 60)
            if self.zygote.fileno() >= 0:
                self._watch_fd(self.zygote.fileno())

    def start(self, order: StartOrder) -> Started | None:
        """Start a worker, warm if possible; None where one is at the task already. NoProcess."""
        env = workers.worker_env(order.keys)
        started = workers.start(
            order.folder, env=env, kind=self._kind, epoch=order.epoch, now=order.now, zygote=self.zygote
        )
        if started is None:
            return None
        self._busy = True
        if started.child is not None:
            self._children[order.task_id] = started.child
        else:
            self._warm[started.pid] = order.task_id
        return started

    def has_ended(self) -> bool:
        """Return whether one of our own children has ended; the zygote wakes the engine for its own."""
        return any(child.poll() is not None for child in self._children.values())

    def reap(self) -> dict[str, int]:
        """Return the exit codes of workers that ended since the last call, by task."""
        codes = {name: code for name, child in self._children.items() if (code := child.poll()) is not None}
        for name in codes:
            del self._children[name]
        for ended in self.zygote.take_ended():
            if name := self._warm.pop(ended.pid, ""):
                codes[name] = ended.code
        return codes

    def keep_only(self, tasks: Set[str]) -> None:
        """Forget the zygote's workers of all other tasks; our own children are waited for."""
        self._warm = {pid: name for pid, name in self._warm.items() if name in tasks}

    def close(self) -> None:
        """Let the zygote go."""
        self.zygote.retire()


class BackendPlacement:
    """Which backend runs a task: here, or the one of the host that its spec names.

    A task that names a host for which there is no backend waits. It never runs here instead: what it may read, which
    keys it has and what it costs depend on the place.
    """

    def __init__(self, local: LocalBackend, others: Mapping[str, ExecutionBackend] | None = None) -> None:
        """Run tasks that name no host on `local`; `others` are the backends by the hosts that they serve."""
        self.local = local
        self._others = dict(others or {})

    def backend_of(self, spec: Spec) -> ExecutionBackend | None:
        """Return the backend of a task; None where it has to wait for one."""
        return self._others.get(spec.host) if spec.host else self.local

    def all(self) -> list[ExecutionBackend]:
        """Return every backend, the local one first."""
        return [self.local, *self._others.values()]
