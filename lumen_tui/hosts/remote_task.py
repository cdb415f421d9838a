"""One attempt at a task on the host that does it: begun, found again, watched, and never two of a task at once.

The worker is the ordinary program in a session of its own, with a state folder of its own and the lock on its run.lock.
So it outlives whoever started it, and the next one finds it by that lock and by the spool beside it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from lumen_tui.engine.supervisor import workers
from lumen_tui.engine.supervisor.execution import LocalBackend, StartOrder
from lumen_tui.hosts.copying import append_at
from lumen_tui.hosts.gathering import Gatherer
from lumen_tui.hosts.messages import RemoteState
from lumen_tui.hosts.spool import Spool
from lumen_tui.hosts.tree_packing import unpack
from lumen_tui.model import frames, ids
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.frames import Frame, HostOrder
from lumen_tui.model.hosting import resources_of
from lumen_tui.model.tasks import Run, Spec
from lumen_tui.model.text import one_line
from lumen_tui.model.transcript import session_id
from lumen_tui.storage import directories, files
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import stamp
from lumen_tui.store.settings.config import change_operator, load_config
from lumen_tui.store.tasks import claims, leases, task_records
from lumen_tui.store.tasks.task_records import has_worker, read_json
from lumen_tui.tools.isolation.placing import Unplaceable
from lumen_tui.tools.sandbox.tiers import RESULTS

_STATE, _SPOOL = "state", "spool.jsonl"
_GONE = "gone"  # holds what is being removed
_ASK, _TERM = 2.0, 2.0  # seconds that a worker has whose attempt is over, as for any worker


class OrderRefused(Exception):
    """A host does not do what it is asked; the text says why. Nothing was begun."""


class RemoteTask:
    """An attempt that was laid out in the folder of a host."""

    def __init__(self, place: Path, task_id: str, attempt: int, clock: Clock, backend: LocalBackend) -> None:
        """Open an attempt in its folder, whose worker `backend` starts. StoreError, DamagedTask."""
        self.task_id, self.attempt = task_id, attempt
        self._clock, self._backend = clock, backend
        layout = Layout(place / _STATE)
        self.folder = layout.task(task_id)
        self.spec = task_records.read_spec(self.folder)
        self._spool = Spool(place / _SPOOL)
        transcript = layout.transcript(session_id(self.spec, attempt))
        self._gatherer = Gatherer(self.folder, transcript, attempt, self._spool)

    def launch(self, keys: Iterable[str]) -> None:
        """Start the worker, with those keys of this host, unless this attempt had one already. NoProcess.

        Where that one has ended and claims to be done, another process checks this: the files are here.
        """
        self.renew()
        if has_worker(self.folder) or self.has_exit() or not (self._is_new() or self._claims()):
            return
        self._gatherer.gather()  # what was given is known to be the same on both sides before a worker changes it
        self._backend.start(StartOrder(self.task_id, self.folder, tuple(keys), 0, self._clock.now()))

    def _is_new(self) -> bool:
        return not (self.folder / "run.json").exists() and workers.next_attempt(self.folder) == self.attempt

    def _claims(self) -> bool:
        return claims.unchecked(self.folder, self.attempt) is not None

    def renew(self) -> None:
        """Let the worker go on: its engine has been heard of. StoreError: it rests once its lease is over."""
        leases.renew(self.folder, self._clock.running())

    def state(self) -> RemoteState:
        """Take in what the worker wrote, and return how it stands. StoreError, OSError."""
        self._backend.reap()
        alive = has_worker(self.folder)  # first: what it wrote at its end is there once it is gone
        while self._gatherer.gather() and not alive:
            continue
        told = {name: size for name in (*frames.TOLD, *frames.ORDERS) if (size := stamp(self.folder / name)[1])}
        return RemoteState(self.attempt, alive, self._spool.last, told)

    def has_exit(self) -> bool:
        """Return whether its worker has written what it writes last."""
        return (self.folder / "exit.json").exists()

    def written(self) -> list[Path]:
        """Return the folders in which the worker writes what is sent."""
        return [self.folder]

    @property
    def frames(self) -> int:
        """How many frames there were at the last look."""
        return self._spool.last

    def after(self, seq: int) -> list[Frame]:
        """Return frames behind that number, as many as are sent at once."""
        return self._spool.after(seq)

    def order(self, name: str, data: bytes | None, offset: int = -1) -> None:
        """Write what the engine wrote for the worker, or take it away with None. OrderRefused, StoreError.

        With an offset the data are added to a journal there, as far as they are not in it.
        """
        if name not in (frames.TOLD if offset >= 0 else (*frames.ORDERS, frames.SPEC)):
            raise OrderRefused(f"{one_line(name, 60)!r} is nothing that an engine tells a worker")
        if name == frames.SPEC:
            self._limit(data or b"")
        elif offset >= 0:
            if trouble := append_at(self.folder / name, offset, data or b""):
                raise OrderRefused(f"{name} from byte {offset}: {trouble}")
        elif data is None:
            directories.remove(self.folder / name)
        else:
            files.replace(self.folder / name, data)

    def _limit(self, data: bytes) -> None:
        """Take over how far the task may go, and nothing else, from its spec as it is at the engine."""
        try:
            new = msgspec.json.decode(data, type=Spec)
        except UNDECODABLE as error:
            raise OrderRefused(f"the limits of the task cannot be read: {one_line(str(error), 200)}") from error
        limits = {"steps": new.steps, "timeout_seconds": new.timeout_seconds, "budget": new.budget}
        if (spec := msgspec.structs.replace(self.spec, **limits)) != self.spec:
            files.replace(self.folder / frames.SPEC, msgspec.json.encode(spec))
            self.spec = spec

    async def end(self, reason: str) -> None:
        """End the worker: ask, wait, TERM, wait, KILL."""
        run = read_json(self.folder / "run.json", Run) or Run(self.attempt, "")
        await workers.end(self.folder, run, status="cancelled", reason=reason, ask=_ASK, term=_TERM)

    def close(self) -> None:
        """Let go of the files; the worker goes on."""
        self._spool.close()


def _ask_for(layout: Layout, asks: Iterable[str]) -> None:
    """Let a person be asked for these calls, too, whatever the settings of this host leave open."""
    own = load_config(layout)[0].approvals.ask
    if more := set(asks).difference(own):
        change_operator(layout, {"approvals.ask": [*own, *sorted(more)]})


class HostFolder:
    """The folder of a host: a folder for each task, and in it one for each attempt."""

    def __init__(self, root: Path, clock: Clock) -> None:
        self.root = root
        self._clock = clock
        self._begun: set[tuple[str, int]] | None = None  # attempts that may have a worker; None: not looked for yet
        self._ended: set[tuple[str, int]] = set()
        self.backend = LocalBackend(root / "zygote.log", lambda _: None)

    def attempts(self, task_id: str) -> list[int]:
        """Return the attempts at a task that began here, the earliest first."""
        try:
            names = os.listdir(self._task(task_id))
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if name.isdigit())

    def alive(self) -> list[tuple[str, int]]:
        """Return (task, attempt) of every worker that lives here, whoever started it."""
        if self._begun is None:
            self._begun = {(name, attempt) for name in self._names() for attempt in self.attempts(name)}
        alive = sorted(begun for begun in self._begun if has_worker(self._folder(*begun)))
        self._ended |= self._begun.difference(alive)
        self._begun.intersection_update(alive)
        return alive

    def ended(self) -> set[tuple[str, int]]:
        """Return (task, attempt) of what lies here and had no worker when `alive` looked last."""
        return self._ended

    def discard(self, task_id: str, attempt: int) -> None:
        """Remove the folder of an attempt that has no worker. What a kill leaves of it the next call removes.

        BadId, StoreError, OSError.
        """
        place, gone = self._place(task_id, attempt), self.root / _GONE
        if has_worker(self._folder(task_id, attempt)):
            return
        directories.discard_tree(gone)
        if place.exists():
            directories.make_folder(gone, durable=False)
            directories.move(place, gone / place.name)
            directories.discard_tree(gone)
        directories.remove_folder(place.parent)
        self._ended.discard((task_id, attempt))

    def held(self, but: str) -> Counter[str]:
        """Return how much of each resource the tasks have that work here, but for one. StoreError, DamagedTask."""
        held: Counter[str] = Counter()
        for name, attempt in self.alive():
            if name != but:
                held.update(resources_of(task_records.read_spec(self._folder(name, attempt)).resources))
        return held

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.root / "tasks")
        except FileNotFoundError:
            return []

    def launch(self, task: RemoteTask, keys: Iterable[str]) -> None:
        """Start the worker of an attempt as `RemoteTask.launch` does. NoProcess, StoreError."""
        task.launch(keys)
        self._ended.discard((task.task_id, task.attempt))
        if self._begun is not None:
            self._begun.add((task.task_id, task.attempt))

    def find(self, task_id: str, attempt: int) -> RemoteTask | None:
        """Return an attempt that began here; None where it did not. BadId, StoreError, DamagedTask."""
        if attempt not in self.attempts(task_id):
            return None
        return self._open(task_id, attempt)

    def _open(self, task_id: str, attempt: int) -> RemoteTask:
        return RemoteTask(self._place(task_id, attempt), task_id, attempt, self._clock, self.backend)

    async def begin(self, order: HostOrder) -> RemoteTask:
        """Return the attempt of an order, laid out if it was not yet. OrderRefused, BadId, StoreError.

        The number of the attempt is the fence: with a higher one all before it are over, and their workers are ended;
        with a lower one nothing is done.
        """
        before = self.attempts(order.task_id)
        if later := [number for number in before if number > order.attempt]:
            raise OrderRefused(f"attempt {order.attempt} at {order.task_id} is over: attempt {later[-1]} began here")
        for number in before:
            if number < order.attempt and has_worker(self._folder(order.task_id, number)):
                await self._end(order.task_id, number, order.attempt)
        if not self.has_started(order.task_id, order.attempt):
            self._lay_out(order)
        return self._open(order.task_id, order.attempt)

    def has_started(self, task_id: str, attempt: int) -> bool:
        """Return whether an attempt may have had a worker: run.json is durable before there is one. BadId."""
        folder = self._folder(task_id, attempt)
        return (folder / "run.json").exists() or has_worker(folder)

    async def _end(self, task_id: str, attempt: int, by: int) -> None:
        task = self._open(task_id, attempt)
        await task.end(f"attempt {by} has begun")
        task.close()

    def _lay_out(self, order: HostOrder) -> None:
        """Write the files of an order; the folder is there whole or not at all.

        None of them has to outlive the machine: its worker does not, and one that never started is laid out once more.
        """
        for path in order.files:
            if not frames.may_be_given(path, order.task_id):
                raise OrderRefused(f"the order brings {one_line(path, 80)!r}, which is no file of a task")
        place = self._place(order.task_id, order.attempt)
        new = place.with_name(f".{place.name}.new")
        directories.discard_tree(new)
        Layout(new / _STATE).create(durable=False)  # its worker is gone with the machine
        for own in ("lumen.toml", f"index/{RESULTS}"):  # the host's own settings, and what its sandbox was seen to hold
            if (data := files.read(self.root / own)) is not None:
                files.replace(new / _STATE / own, data, durable=False)
        for path, data in order.files.items():
            directories.make_folder((new / _STATE / path).parent, durable=False)
            files.replace(new / _STATE / path, data, durable=False)
        _ask_for(Layout(new / _STATE), order.asks)
        _lay_out_tree(Layout(new / _STATE).task(order.task_id))
        if (number := workers.next_attempt(Layout(new / _STATE).task(order.task_id))) != order.attempt:
            raise OrderRefused(f"the order is for attempt {order.attempt}, and its files are those of attempt {number}")
        directories.discard_tree(place)
        directories.move(new, place)

    def _task(self, task_id: str) -> Path:
        return self.root / "tasks" / ids.check_name(task_id, "task id")

    def _place(self, task_id: str, attempt: int) -> Path:
        return self._task(task_id) / str(attempt)

    def _folder(self, task_id: str, attempt: int) -> Path:
        return Layout(self._place(task_id, attempt) / _STATE).task(task_id)


def _lay_out_tree(folder: Path) -> None:
    """Make the folder in which the task works, where the order brought one. OrderRefused, OSError."""
    pack = folder / frames.TREE
    if (data := files.read(pack)) is None:
        return
    try:
        unpack(data, folder)
    except (Unplaceable, *UNDECODABLE) as error:
        raise OrderRefused(f"the folder that the order brings is none: {one_line(str(error), 200)}") from error
    directories.remove(pack)
