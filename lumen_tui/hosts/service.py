"""What a host answers: each request is the engine's own word, each answer the host's, and neither goes to another."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterable

import msgspec
from msgspec import Struct

from lumen_tui import __version__
from lumen_tui.engine.supervisor.workers import NoProcess
from lumen_tui.hosts.certificates import ENGINE, HOST, BadCertificate, Credentials
from lumen_tui.hosts.remote_task import HostFolder, OrderRefused, RemoteState, RemoteTask
from lumen_tui.model import ids
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.frames import Frame, HostOrder
from lumen_tui.model.ids import BadId
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, process
from lumen_tui.storage.clock import Clock
from lumen_tui.store.tasks.task_records import DamagedTask
from lumen_tui.tools.sandbox.sandboxed_command import BUBBLEWRAP, LANDLOCK

_LOOK = 0.05  # seconds between two looks at what a worker wrote
_MOST_WAIT = 20.0  # seconds that an answer waits for news at most
_ROOM = 256 * 1024 * 1024  # bytes that must be free on the disk for a task to begin


class Describe(Struct, frozen=True, tag=True):
    """Say who you are and how you stand."""


class Begin(Struct, frozen=True, tag=True):
    """Begin an attempt, or find it again."""

    order: HostOrder


class Look(Struct, frozen=True, tag=True):
    """Say how an attempt stands, with frames behind a number; wait so many seconds for news. It renews the lease."""

    task_id: str
    attempt: int
    after: int = 0
    wait: float = 0.0


class Tell(Struct, frozen=True, tag=True):
    """Write what the engine wrote for a worker, or take it away with None; with an offset, add to a journal."""

    task_id: str
    attempt: int
    name: str
    data: bytes | None = None
    offset: int = -1


class End(Struct, frozen=True, tag=True):
    """End the worker of an attempt."""

    task_id: str
    attempt: int
    reason: str


Demand = Describe | Begin | Look | Tell | End


class HostRequest(Struct, frozen=True):
    """A demand for one host. The answer to it bears the same number."""

    host: str
    nonce: str
    demand: Demand


class HostFacts(Struct, frozen=True):
    """A host as it describes itself. `now` is its wall clock; `workers` are (task, attempt)."""

    name: str
    version: str
    slots: int
    roles: tuple[str, ...]
    tier: str
    now: float
    boot_id: str
    free: int
    workers: tuple[tuple[str, int], ...] = ()


class HostAnswer(Struct, frozen=True):
    """What came of a demand: `refused` says why nothing did."""

    nonce: str
    refused: str = ""
    facts: HostFacts | None = None
    state: RemoteState | None = None
    frames: tuple[Frame, ...] = ()


class HostService:
    """One host: its folder, its slots and roles, and the attempts that it has open."""

    def __init__(
        self,
        folder: HostFolder,
        credentials: Credentials,
        clock: Clock,
        *,
        slots: int,
        roles: Iterable[str],
        tier: str,
        keys: Callable[[Spec], Iterable[str]],
    ) -> None:
        """Serve `roles` (empty: any), so many tasks at once, in sandboxes of that tier.

        `keys` names those of this host's own keys that a task gets.
        """
        self._folder, self._credentials, self._clock = folder, credentials, clock
        self.slots, self._roles, self._tier = slots, tuple(roles), tier
        self._keys = keys
        self._open: dict[tuple[str, int], RemoteTask] = {}
        self._beginning = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._credentials.signer.name

    async def answer(self, sealed: bytes) -> bytes:
        """Return the sealed answer to a sealed request. BadCertificate where that is not the engine's for this host."""
        _, body = self._credentials.open(sealed, ENGINE, self._clock.now())
        try:
            request = msgspec.msgpack.decode(body, type=HostRequest)
        except UNDECODABLE as error:
            raise BadCertificate(f"a request of another version: {one_line(str(error), 200)}") from error
        if request.host != self.name:
            raise BadCertificate(f"a request for {one_line(request.host, 80)}, and this is {self.name}")
        try:
            answer = await self._carry_out(request)
        except (OrderRefused, BadId, DamagedTask, NoProcess, files.StoreError, OSError) as error:
            answer = HostAnswer(request.nonce, refused=one_line(str(error), 300))
        return self._credentials.seal(msgspec.msgpack.encode(answer))

    async def _carry_out(self, request: HostRequest) -> HostAnswer:
        demand = request.demand
        match demand:
            case Describe():
                return HostAnswer(request.nonce, facts=self.facts())
            case Begin(order):
                async with self._beginning:  # two at once would both see the last slot free
                    state = await self._begin(order)
                return HostAnswer(request.nonce, state=state)
            case Look():
                state, frames = await self._look(demand)
                return HostAnswer(request.nonce, state=state, frames=tuple(frames))
            case Tell(task_id, attempt, name, data, offset):
                self._task(task_id, attempt).order(name, data, offset)
            case End(task_id, attempt, reason):
                await self._task(task_id, attempt).end(one_line(reason, 300))
        return HostAnswer(request.nonce, state=self._task(demand.task_id, demand.attempt).state())

    def facts(self) -> HostFacts:
        """Describe this host."""
        return HostFacts(
            self.name,
            __version__,
            self.slots,
            self._roles,
            self._tier,
            self._clock.now(),
            process.boot_id(),
            shutil.disk_usage(self._folder.root).free,
            tuple(self._folder.alive()),
        )

    async def _begin(self, order: HostOrder) -> RemoteState:
        known = self._folder.find(order.task_id, order.attempt)
        if known is None:
            self._must_take(order)
        else:
            known.close()
        begun = await self._folder.begin(order)  # also of one that is open: a later attempt may have begun since
        task = self._open.setdefault((order.task_id, order.attempt), begun)
        if task is not begun:
            begun.close()
        task.launch(self._keys(task.spec))
        return task.state()

    def _must_take(self, order: HostOrder) -> None:
        """Raise OrderRefused where this host cannot do a task that is new to it."""
        if self._roles and order.role not in self._roles:
            raise OrderRefused(f"{self.name} has no role {one_line(order.role, 60)}: {', '.join(self._roles)}")
        if self._tier not in (BUBBLEWRAP, LANDLOCK):
            raise OrderRefused(f"{self.name} has no sandbox that holds: nobody is there to ask for each command")
        if (free := shutil.disk_usage(self._folder.root).free) < _ROOM:
            raise OrderRefused(f"the disk of {self.name} is full: {free // 1024**2:,} MiB are free")
        others = [name for name, _ in self._folder.alive() if name != order.task_id]
        if len(others) >= self.slots:
            raise OrderRefused(f"{self.name} has {len(others)} at work, and {self.slots} slots")

    async def _look(self, demand: Look) -> tuple[RemoteState, list[Frame]]:
        """Return how an attempt stands, once there is news of it or the wait is over."""
        task = self._task(demand.task_id, demand.attempt)
        task.renew()
        ends = self._clock.running() + min(demand.wait, _MOST_WAIT)
        while True:
            state = task.state()
            if state.last > demand.after or not state.alive or self._clock.running() >= ends:
                return state, task.after(demand.after)
            await asyncio.sleep(_LOOK)

    def _task(self, task_id: str, attempt: int) -> RemoteTask:
        """Return an attempt that began here, also before this service did. OrderRefused."""
        task = self._open.get((task_id, attempt)) or self._folder.find(task_id, attempt)
        if task is None:
            raise OrderRefused(f"attempt {attempt} at {one_line(task_id, 80)} did not begin on {self.name}")
        self._open[task_id, attempt] = task
        return task

    def close(self) -> None:
        """Let go of every attempt; the workers go on."""
        for task in self._open.values():
            task.close()
        self._open.clear()


class HostCaller:
    """The engine's side: asks hosts by any way that takes bytes to one of a name and brings bytes back."""

    def __init__(self, credentials: Credentials, clock: Clock, send: Callable[[str, bytes], Awaitable[bytes]]) -> None:
        self._credentials, self._clock = credentials, clock
        self._send = send

    async def ask(self, host: str, demand: Demand) -> HostAnswer:
        """Return the answer of that very host to this very demand. BadCertificate, and what the way raises."""
        nonce = ids.new_id("req")
        body = msgspec.msgpack.encode(HostRequest(host, nonce, demand))
        sealed = await self._send(host, self._credentials.seal(body))
        name, answer = self._credentials.open(sealed, HOST, self._clock.now())
        if name != host:
            raise BadCertificate(f"{name} answered in the place of {host}")
        try:
            decoded = msgspec.msgpack.decode(answer, type=HostAnswer)
        except UNDECODABLE as error:
            raise BadCertificate(f"{host} answers in another version: {one_line(str(error), 200)}") from error
        if decoded.nonce != nonce:
            raise BadCertificate(f"{host} gave the answer to another request")
        return decoded
