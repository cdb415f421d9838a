"""What a host answers: each request is the engine's own word, each answer the host's, and neither goes to another."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Self

import msgspec

from lumen_tui import __version__
from lumen_tui.engine.supervisor.workers import NoProcess
from lumen_tui.hosts.certificates import ENGINE, HOST, BadCertificate, Credentials
from lumen_tui.hosts.messages import (
    Begin,
    Demand,
    Describe,
    Discard,
    End,
    HostAnswer,
    HostRequest,
    Leave,
    Look,
    RemoteState,
    Tell,
)
from lumen_tui.hosts.remote_task import HostFolder, OrderRefused, RemoteTask
from lumen_tui.model import frames, ids
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.frames import Frame, HostOrder
from lumen_tui.model.hosting import ROOM, TIERS, HostFacts, lacks, resources_of
from lumen_tui.model.ids import BadId
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, process
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.watch import Notices
from lumen_tui.store.tasks.task_records import DamagedTask

_LOOK = 0.25  # seconds between two looks at a worker that writes nothing
_GATHER = 0.02  # seconds for more of what a worker writes
WARM = 10.0  # minutes for which a process that has all loaded is kept, for the next worker
_MOST_WAIT = 20.0  # seconds that an answer waits for news at most
_KEPT = 10.0  # seconds for which an attempt stays open that is over and that nobody asks for
_MOST_NAMED = 100  # attempts that are named at once as kept


class _Written:
    """Wakes whoever waits when something in some folders is written; without inotify, when the time is over."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._event = asyncio.Event()
        try:
            self._notices: Notices | None = Notices(folders)
        except OSError:
            self._notices = None

    def __enter__(self) -> Self:
        if self._notices is not None:
            asyncio.get_running_loop().add_reader(self._notices.fileno(), self._take, self._notices)
        return self

    def __exit__(self, *_: object) -> None:
        if self._notices is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._notices.fileno())
            loop.run_in_executor(None, self._notices.close)  # for which the kernel lets 10 ms pass

    def _take(self, notices: Notices) -> None:
        notices.names()
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Return once something was written since the last call, or after that time."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)
        self._event.clear()


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
        resources: Mapping[str, int],
        tier: str,
        keys: Callable[[Spec], Iterable[str]],
    ) -> None:
        """Serve `roles` (empty: any), so many tasks at once with those resources, in sandboxes of that tier.

        `keys` names those of this host's own keys that a task gets.
        """
        self._folder, self._credentials, self._clock = folder, credentials, clock
        self.slots, self._roles, self._tier = slots, tuple(roles), tier
        self._resources, self._keys = dict(resources), keys
        self._open: dict[tuple[str, int], RemoteTask] = {}
        self._asked: dict[tuple[str, int], float] = {}  # when each of them was asked for, in running time
        self._beginning = asyncio.Lock()
        self.left = asyncio.Event()  # set once the engine has let this host go

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
        except (OrderRefused, BadId, DamagedTask, NoProcess, files.StoreError, OSError, ValueError) as error:
            answer = HostAnswer(request.nonce, refused=one_line(str(error), 300))
        return self._credentials.seal(msgspec.msgpack.encode(answer))

    async def _carry_out(self, request: HostRequest) -> HostAnswer:
        demand = request.demand
        match demand:
            case Describe():
                return HostAnswer(request.nonce, facts=self.facts())
            case Leave():
                self._leave()
                return HostAnswer(request.nonce)
            case Discard(attempts):
                async with self._beginning:
                    await self._discard(attempts)
                return HostAnswer(request.nonce)
            case Begin(order):
                async with self._beginning:  # two at once would both see the last slot free
                    state = await self._begin(order)
                return HostAnswer(request.nonce, state=state)
            case Look():
                state, news = await self._look(demand)
                return HostAnswer(request.nonce, state=state, frames=tuple(news))
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
            tuple((name, attempt, self._frames(name, attempt)) for name, attempt in self._folder.alive()),
            self._resources,
            tuple(self._kept()),
        )

    def _kept(self) -> list[tuple[str, int]]:
        """Return attempts that have ended and that nobody asks for; of more than are named at once others each time.

        Some stay for good, and must not stand before those that may go.
        """
        self._close_what_is_over()
        ended = sorted(self._folder.ended().difference(self._asked))
        return random.sample(ended, min(len(ended), _MOST_NAMED))

    async def _discard(self, attempts: Iterable[tuple[str, int]]) -> None:
        for key in attempts:
            self._forget(key)
            await asyncio.to_thread(self._folder.discard, *key)  # a folder of work may be large

    def _frames(self, task_id: str, attempt: int) -> int:
        task = self._open.get((task_id, attempt))
        return task.frames if task is not None else 0

    async def _begin(self, order: HostOrder) -> RemoteState:
        key = order.task_id, order.attempt
        if not self._folder.has_started(*key):
            self._must_take(order)
            self._forget(key)  # it is laid out once more
        begun = await self._folder.begin(order)  # also of one that is open: a later attempt may have begun since
        task = self._open.setdefault(key, begun)
        if task is not begun:
            begun.close()
        task.order(frames.SPEC, order.files.get(f"tasks/{order.task_id}/{frames.SPEC}"))
        self._folder.launch(task, self._keys(task.spec))
        self._folder.backend.warm_up(WARM)
        self._asked[key] = self._clock.running()
        self._close_what_is_over()
        return task.state()

    def _close_what_is_over(self) -> None:
        """Let go of attempts that ended, whose frames were fetched; who asks again finds them again."""
        before, alive = self._clock.running() - _KEPT, set(self._folder.alive())
        for key in [key for key, asked in self._asked.items() if asked < before and key not in alive]:
            self._forget(key)

    def _forget(self, key: tuple[str, int]) -> None:
        self._asked.pop(key, None)
        if (task := self._open.pop(key, None)) is not None:
            task.close()

    def _leave(self) -> None:
        if alive := self._folder.alive():
            raise OrderRefused(f"{self.name} has {len(alive)} at work: it leaves when they have ended")
        self.left.set()

    def _must_take(self, order: HostOrder) -> None:
        """Raise OrderRefused where this host cannot do a task that is new to it."""
        if self._roles and order.role not in self._roles:
            raise OrderRefused(f"{self.name} has no role {one_line(order.role, 60)}: {', '.join(self._roles)}")
        if self._tier not in TIERS:
            raise OrderRefused(f"{self.name} has no sandbox that holds: nobody is there to ask for each command")
        if (free := shutil.disk_usage(self._folder.root).free) < ROOM:
            raise OrderRefused(f"the disk of {self.name} is full: {free // 1024**2:,} MiB are free")
        others = [name for name, _ in self._folder.alive() if name != order.task_id]
        if len(others) >= self.slots:
            raise OrderRefused(f"{self.name} has {len(others)} at work, and {self.slots} slots")
        if lack := lacks(resources_of(order.resources), self._resources, self._folder.held(order.task_id)):
            raise OrderRefused(f"{self.name}: {lack}")

    async def _look(self, demand: Look) -> tuple[RemoteState, list[Frame]]:
        """Return how an attempt stands, once there is news of it or the wait is over."""
        task = self._task(demand.task_id, demand.attempt)
        task.renew()
        ends = self._clock.running() + min(demand.wait, _MOST_WAIT)
        with _Written(task.written()) as written:
            while True:
                state = task.state()
                if state.last > demand.after and state.alive and not task.has_exit():
                    await asyncio.sleep(_GATHER)  # what is written in one go is sent in one
                    state = task.state()
                if state.last > demand.after or not state.alive or self._clock.running() >= ends:
                    return state, task.after(demand.after)
                await written.wait(_LOOK)

    def _task(self, task_id: str, attempt: int) -> RemoteTask:
        """Return an attempt that began here, also before this service did. OrderRefused."""
        task = self._open.get((task_id, attempt)) or self._folder.find(task_id, attempt)
        if task is None:
            raise OrderRefused(f"attempt {attempt} at {one_line(task_id, 80)} did not begin on {self.name}")
        self._open[task_id, attempt] = task
        self._asked[task_id, attempt] = self._clock.running()
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
