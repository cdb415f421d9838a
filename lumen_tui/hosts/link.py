"""The link: `python -m lumen_tui.hosts.link STATE_FOLDER` is where hosts join, and alone here knows Dask.

It answers for the processes of this machine what they ask a host, and writes down how each host stands. It keeps
nothing that is not in a file: killed at any moment, the next one goes on, and hosts join that one. It ends by itself
when no engine drives the folder and nobody asks any more.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui import __version__
from lumen_tui.hosts import channel
from lumen_tui.hosts.messages import Begin, Describe, Discard, End, HostAnswer, Leave, LinkAnswer, LinkRequest
from lumen_tui.model import extras
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.hosting import HostFacts, HostSighting, Sightings
from lumen_tui.model.tasks import Run
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, lease, locks
from lumen_tui.storage.clock import Clock, SystemClock
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import hosts
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import homes, task_files
from lumen_tui.store.tasks.task_records import has_worker, read_json

if TYPE_CHECKING:
    from distributed import Scheduler

    from lumen_tui.hosts.service import HostCaller

_LOOK = 5.0  # seconds between two looks at hosts of which nothing is heard
_PATIENCE = 45.0  # seconds for an answer, which a host gives within 20
_ALONE = 30.0  # seconds without an engine and without a question, after which it ends
_REFUSED = 20.0  # seconds for which a host that refused a task is offered none
_WRITE = 60.0  # seconds after which what was seen is written though nothing but times changed


class CannotLink(Exception):
    """The link cannot be opened; the text says what a person must do."""


class HostLink:
    """Asks hosts for others, and keeps an eye on them."""

    def __init__(self, layout: Layout, caller: HostCaller, scheduler: Scheduler, clock: Clock) -> None:
        self._layout, self._caller, self._clock = layout, caller, clock
        self._scheduler = scheduler
        self._seen: dict[str, HostSighting] = {}
        self._written: tuple[float, object] = (0.0, None)
        self._refused: dict[str, tuple[float, str]] = {}  # host -> until when, and why
        self._news = asyncio.Event()
        self._open = 0  # connections
        self._asked = clock.awake()
        self._tasks: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Look at the hosts now: one has joined or gone."""
        self._news.set()

    async def serve(self, server: socket.socket) -> None:
        """Take connections for ever."""
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(server)
            if not channel.is_ours(connection):
                connection.close()
                continue
            task = loop.create_task(self._converse(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _converse(self, connection: socket.socket) -> None:
        """Answer one process until it goes."""
        self._open += 1
        reader, writer = await asyncio.open_connection(sock=connection)
        try:
            while True:
                request = msgspec.msgpack.decode(await channel.read(reader), type=LinkRequest)
                await channel.write(writer, await self._ask(request))
        except (*UNDECODABLE, OSError, EOFError):
            return
        finally:
            self._open -= 1
            writer.close()

    async def _ask(self, request: LinkRequest) -> LinkAnswer:
        from lumen_tui.hosts.certificates import BadCertificate
        from lumen_tui.hosts.dask_link import NoHost

        self._asked = self._clock.awake()
        if request.host not in {entry.name for entry in hosts.entries(self._layout)}:
            return LinkAnswer(trouble=f"host {request.host} is not registered any more")
        try:
            async with asyncio.timeout(_PATIENCE):
                answer = await self._caller.ask(request.host, request.demand)
        except (NoHost, BadCertificate, TimeoutError) as error:
            self.wake()
            return LinkAnswer(trouble=str(error) or f"host {request.host} does not answer")
        if answer.refused and isinstance(request.demand, Begin):
            self._refused[request.host] = (self._clock.awake() + _REFUSED, answer.refused)
            self._write()  # before it is known to whom it was refused: the next one goes elsewhere
        return LinkAnswer(answer)

    async def watch(self) -> None:
        """Look at the hosts whenever one joins or goes, and now and then; return when nobody needs the link."""
        while self._is_needed():
            self._news.clear()
            await asyncio.gather(*(self._look_at(entry.name) for entry in hosts.entries(self._layout)))
            self._write()
            try:
                await asyncio.wait_for(self._news.wait(), _LOOK)
            except TimeoutError:
                continue

    def _is_needed(self) -> bool:
        """Return whether hosts are registered, and an engine or a task is there to ask for them."""
        if not hosts.entries(self._layout):
            return False
        if self._open or lease.is_held(self._layout):
            self._asked = self._clock.awake()
        return self._clock.awake() - self._asked < _ALONE

    async def _look_at(self, name: str) -> None:
        """Ask a host how it stands, and have it end what is over here."""
        from lumen_tui.hosts.certificates import BadCertificate
        from lumen_tui.hosts.dask_link import NoHost

        before = self._seen.get(name, HostSighting())
        try:
            async with asyncio.timeout(_LOOK * 2):
                answer = await self._caller.ask(name, Describe())
        except (NoHost, BadCertificate, TimeoutError) as error:
            reason = "it is not connected" if isinstance(error, NoHost) else str(error) or "it does not answer"
            self._seen[name] = msgspec.structs.replace(before, trouble=one_line(reason, 300))
            return
        if (facts := answer.facts) is None:
            return
        now = self._clock.now()
        seen = msgspec.structs.replace(facts, kept=())
        self._seen[name] = HostSighting(seen, heard=now, skew=round(facts.now - now, 1) + 0.0)
        await self._end_what_is_over(name, facts)
        if home := tuple(key for key in facts.kept if self._is_home(name, *key)):
            await self._quietly(self._caller.ask(name, Discard(home)))
        await self._let_go(name, facts)

    async def _end_what_is_over(self, name: str, facts: HostFacts) -> None:
        for task_id, attempt, _ in facts.workers:
            if reason := self._over(name, task_id, attempt):
                await self._quietly(self._caller.ask(name, End(task_id, attempt, reason)))

    def _over(self, name: str, task_id: str, attempt: int) -> str:
        """Return why an attempt on a host has nobody here any more; empty while it has."""
        try:
            folder = self._layout.task(task_id)
            run = read_json(folder / "run.json", Run)
        except (ValueError, OSError):
            return "no task of this engine"
        return _why_over(folder, run, name, attempt)

    def _is_home(self, name: str, task_id: str, attempt: int) -> bool:
        """Return whether all that is wanted of an attempt that ended on a host is here, and no proxy asks for more."""
        try:
            folder = task_files.folder_of(self._layout, task_id)
            if folder is None or has_worker(folder):
                return False  # of a task that nobody knows here the host has all there is
            run, come = read_json(folder / "run.json", Run), homes.read(folder, attempt)
        except (ValueError, OSError):
            return False
        if run is None or (come is not None and come.over and not come.whole):
            return False  # it was given up: what never came here is there alone
        return bool(_why_over(folder, run, name, attempt))

    async def _let_go(self, name: str, facts: HostFacts) -> None:
        """Let a host leave that is drained and has nothing to do any more."""
        leaving = any(entry.leaves for entry in hosts.entries(self._layout) if entry.name == name)
        if leaving and not facts.workers:
            await self._quietly(self._caller.ask(name, Leave()))

    async def _quietly(self, asking: Coroutine[object, object, HostAnswer]) -> None:
        """Ask without caring for the answer: it is asked again at the next look."""
        from lumen_tui.hosts.certificates import BadCertificate
        from lumen_tui.hosts.dask_link import NoHost

        try:
            async with asyncio.timeout(_LOOK * 2):
                await asking
        except (NoHost, BadCertificate, TimeoutError):
            return

    def _write(self) -> None:
        """Write what was seen, where it matters or a minute has passed."""
        now = self._clock.awake()
        self._refused = {name: refusal for name, refusal in self._refused.items() if refusal[0] > now}
        shown = {name: self._shown(name, sighting) for name, sighting in self._seen.items()}
        telling = {name: _telling(sighting) for name, sighting in shown.items()}
        if telling == self._written[1] and now - self._written[0] < _WRITE:
            return
        try:
            hosts.see(self._layout, Sightings(self._scheduler.address, hosts=shown))
        except (files.StoreError, OSError) as error:
            _tell(f"what was seen is not written: {error}")  # a full disk: at the next look
            return
        self._written = (now, telling)

    def _shown(self, name: str, sighting: HostSighting) -> HostSighting:
        refusal = self._refused.get(name)
        return msgspec.structs.replace(sighting, trouble=refusal[1]) if refusal and not sighting.trouble else sighting


def _why_over(folder: Path, run: Run | None, name: str, attempt: int) -> str:
    """Return why an attempt that ran on a host is over, as the task's files tell; empty while it is not."""
    if run is None or (run.attempt, run.host) != (attempt, name):
        return f"attempt {attempt} is over"
    return "the task has ended" if (folder / "exit.json").exists() else ""


def _telling(sighting: HostSighting) -> object:
    """Return what of a sighting is worth a write."""
    facts = sighting.facts
    rough = facts and msgspec.structs.replace(facts, now=0.0, free=facts.free >> 28)
    return rough, round(sighting.skew / 10), sighting.trouble


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


async def open_link(layout: Layout, clock: Clock) -> None:
    """Be the link until nobody needs it. CannotLink."""
    from lumen_tui.hosts.certificates import BadCertificate, Credentials
    from lumen_tui.hosts.dask_link import DaskWay, on_change, start_scheduler
    from lumen_tui.hosts.service import HostCaller

    address, port = _listen(layout)
    try:
        credentials = Credentials(layout.engine_certificate, clock.now())
        scheduler = await start_scheduler(credentials, address, port, layout.hosts / "scratch")
    except BadCertificate as error:
        raise CannotLink(f"{error}: `lumen-tui hosts cert --engine` makes a new one") from error
    except OSError as error:
        raise CannotLink(
            f"hosts cannot join at {address}:{port} ([hosts] listen): {error.strerror or error}"
        ) from error
    link = HostLink(layout, HostCaller(credentials, clock, DaskWay(scheduler).send), scheduler, clock)
    on_change(scheduler, link.wake)
    server = channel.listening(layout)
    serving = asyncio.ensure_future(link.serve(server))
    ended = asyncio.ensure_future(scheduler.finished())
    watching = asyncio.ensure_future(link.watch())
    await asyncio.wait((serving, ended, watching), return_when=asyncio.FIRST_COMPLETED)
    serving.cancel()
    server.close()
    await scheduler.close()


def _listen(layout: Layout) -> tuple[str, int]:
    text = load_config(layout)[0].hosts.listen
    address, _, port = text.rpartition(":")
    if not address or not port.isdigit() or not 0 <= int(port) <= 65535:
        raise CannotLink(f"[hosts] listen is {one_line(text, 60)!r}: write ADDRESS:PORT, such as 0.0.0.0:8786")
    return address.strip("[]"), int(port)


def main(arguments: list[str]) -> int:
    """Take the lock and be the link. Exit code 1 where it cannot be one: seen.json says why; 3 where there is one."""
    os.umask(0o077)
    (root,) = arguments
    layout = Layout(Path(root))
    lock = locks.try_lock(layout.link_lock)
    if lock is None:
        return 3
    hosts.see(layout, Sightings())
    try:
        asyncio.run(open_link(layout, SystemClock()))
    except (CannotLink, ImportError) as error:
        reason = extras.missing("a host", error.name, "hosts") if isinstance(error, ImportError) else str(error)
        hosts.see(layout, Sightings(trouble=reason))
        _tell(f"lumen-tui {__version__}: {reason}")
        return 1
    hosts.see(layout, Sightings())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
