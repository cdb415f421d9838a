"""Where the worker of a task runs: the border between the dispatcher, which decides that a task starts, and processes.

Whatever is behind the border, a process on this machine holds the task's run.lock for as long as its worker is at it.
So who lives, is adopted, is lost or has to end is told by the lock, whoever started it and wherever it works.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from lumen_tui.engine.supervisor import workers
from lumen_tui.engine.supervisor.workers import Started
from lumen_tui.engine.supervisor.zygote import ZygoteClient
from lumen_tui.model.hosting import HostWait, place, with_load
from lumen_tui.model.tasks import Spec, TaskView
from lumen_tui.storage import files, locks
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store.settings import hosts

_LINK_AGAIN = 2.0  # seconds between two starts of the link
_MOST_UNITS = 10_000  # work units of which the last host is remembered


class StartOrder(Struct, frozen=True):
    """A task that is to have a worker now. `keys` names the API keys that its models need, `host` where it runs."""

    task_id: str
    folder: Path
    keys: tuple[str, ...]
    epoch: int
    now: float
    host: str = ""


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
            order.folder,
            env=env,
            kind=self._kind,
            epoch=order.epoch,
            now=order.now,
            zygote=self.zygote,
            host=order.host,
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


class HostBackend:
    """Workers on other hosts: a proxy here for each, and the link by which proxies reach their hosts.

    A task that names a host waits for one. It never runs here instead: what it may read, which keys it has and what it
    costs depend on the place.
    """

    def __init__(self, layout: Layout, clock: Clock, local: LocalBackend) -> None:
        """Start proxies as `local` starts workers."""
        self._layout, self._clock, self._local = layout, clock, local
        self._link: subprocess.Popen[bytes] | None = None
        self._link_next = 0.0  # running time before which no link is started again
        self._known = Stamped(lambda: hosts.sources(layout), lambda: hosts.known_hosts(layout))
        self._units: dict[str, str] = {}  # work unit -> the host of its last task

    def keep_link(self) -> None:
        """Have a link where hosts are registered. Whether there is one is told by its lock, whoever started it."""
        self._known.refresh()
        if self._link is not None and self._link.poll() is not None:
            self._link = None
        running = self._clock.running()
        if not self._known.value or self._link is not None or running < self._link_next:
            return
        self._link_next = running + _LINK_AGAIN
        if not locks.is_locked(self._layout.link_lock):
            self._start_link()

    def _start_link(self) -> None:
        log = files.open_append(self._layout.link_log)
        try:
            self._link = subprocess.Popen(
                [sys.executable, "-P", "-m", "lumen_tui.hosts.link", str(self._layout.root)],
                cwd="/",
                env=workers.worker_env(()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        except OSError:
            return  # no process to be had: later
        finally:
            os.close(log)

    def place(self, view: TaskView, alive: Iterable[TaskView]) -> HostWait:
        """Return on which host a task begins, or why on none; an attempt that has begun stays where it is."""
        if view.host:
            return HostWait(view.host)
        book = hosts.book(self._layout, self._known.value)
        return place(view.spec, with_load(book._replace(units=self._units), alive))

    def start(self, order: StartOrder) -> Started | None:
        """Start the proxy of a task, for a new attempt or for one that lost its own. NoProcess."""
        return self._local.start(order)

    def note_unit(self, wu_id: str, host: str) -> None:
        """Remember where the last task of a work unit went."""
        if wu_id and host:
            self._units.pop(wu_id, None)
            self._units[wu_id] = host
        if len(self._units) > _MOST_UNITS:
            del self._units[next(iter(self._units))]

    def has_ended(self) -> bool:
        """Return False: proxies are children of the local backend."""
        return False

    def reap(self) -> dict[str, int]:
        """Return nothing: the local backend does."""
        return {}

    def keep_only(self, tasks: Set[str]) -> None:
        """Keep nothing of tasks but where the last of their unit ran."""

    def close(self) -> None:
        """Let go of everything; proxies and the link go on."""


class BackendPlacement:
    """Which backend runs a task: here, or where its spec names a host."""

    def __init__(self, local: LocalBackend, hosts: HostBackend) -> None:
        self.local, self.hosts = local, hosts

    def where(self, view: TaskView, alive: Iterable[TaskView]) -> str | None:
        """Return the host on which a task begins, empty for here; None where it has to wait for one."""
        return (self.hosts.place(view, alive).name or None) if view.spec.host else ""

    def backend_of(self, spec: Spec) -> ExecutionBackend:
        """Return the backend of a task."""
        return self.hosts if spec.host else self.local

    def all(self) -> list[ExecutionBackend]:
        """Return every backend, the local one first."""
        return [self.local, self.hosts]
