"""The proxy: `python -m lumen_tui.hosts.proxy TASK_FOLDER` stands here for the worker that does a task on a host.

It holds run.lock as a worker would, has the attempt begun, and follows it to its end. All that it knows is in the
task's folder: killed at any moment, the next one finds the same attempt again and goes on behind the last frame.
It loads neither Dask nor a certificate: the link asks hosts for it.

Exit codes: 0 the worker has ended, 2 it could not begin, 3 nothing more comes of it, 4 the host did not take it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from lumen_tui.hosts.channel import Channel, NoAnswer
from lumen_tui.hosts.copying import BadFrame
from lumen_tui.hosts.messages import Begin, Demand, End, HostAnswer
from lumen_tui.hosts.packing import TooLarge, pack
from lumen_tui.hosts.task_link import NotThere, TaskLink
from lumen_tui.model import ids
from lumen_tui.model.frames import Home
from lumen_tui.model.tasks import Run
from lumen_tui.model.text import one_line
from lumen_tui.model.times import span
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import claims, homes, task_records
from lumen_tui.store.tasks.task_records import DamagedTask, read_json
from lumen_tui.worker.run_lock import NoLock, take_lock

ENDED, CANNOT_BEGIN, OVER, REFUSED = 0, 2, 3, 4
_AGAIN = (0.1, 0.5, 1.0, 2.0, 5.0)  # seconds between two attempts to reach a host; the last one repeats
_LAST_WORDS = 2.0  # seconds that are left to whoever got TERM


class HostLost(Exception):
    """Nothing more will come of the attempt; the text says why."""


class Refused(Exception):
    """The host does not take the task; nothing was begun."""


class TaskProxy:
    """One attempt at one task on one host."""

    def __init__(self, folder: Path, run: Run) -> None:
        """Stand in for the worker of an attempt; the lock is held. DamagedTask, StoreError, OSError."""
        self._folder, self._attempt, self._host = folder, run.attempt, run.host
        self._layout = Layout(folder.parent.parent)
        self._spec = task_records.read_spec(folder)
        self._channel = Channel(self._layout)
        self._link = TaskLink(self._ask, self._layout, self._spec, run.attempt, run.host, time.time)
        self._patience = load_config(self._layout)[0].hosts.lost_minutes * 60
        self._silent = 0.0  # monotonic time since when the host, not the link, has given no answer; 0: it does

    async def run(self) -> None:
        """See the attempt through. HostLost, Refused, BadFrame, TooLarge, StoreError, OSError."""
        order = pack(self._layout, self._spec, self._attempt)
        answer = await self._patiently(lambda: self._ask(Begin(order)))
        if answer.refused and self._link.seq == 0:
            raise Refused(answer.refused)
        await self._patiently(self._follow)
        if not _has_ended(self._folder, self._attempt):
            self.give_up(f"its worker on {self._host} crashed", whole=True)

    async def _follow(self) -> HostAnswer | None:
        try:
            await self._link.follow()
        except NotThere as error:
            raise HostLost(f"{self._host} knows nothing of it any more: {error}") from error
        return None

    def give_up(self, reason: str, *, whole: bool = False) -> None:
        """Record that nothing more will come of the attempt; what is to follow is for the engine to judge."""
        homes.write(self._folder, Home(self._attempt, self._link.seq, self._host, one_line(reason, 300), whole))

    async def _ask(self, demand: Demand) -> HostAnswer:
        answer = await self._channel.ask(self._host, demand)
        self._silent = 0.0
        return answer

    async def _patiently(self, asking: Callable[[], Awaitable[HostAnswer | None]]) -> HostAnswer:
        """Return what comes of it, however often the way to the host is lost meanwhile. HostLost, Refused."""
        tries = 0
        while True:
            try:
                return await asking() or HostAnswer("")
            except NoAnswer as error:
                self._note_silence(error)
            if task_records.read_stop(self._folder) is not None and self._link.seq == 0:
                raise Refused("it was ended before it had begun")
            await asyncio.sleep(_AGAIN[min(tries, len(_AGAIN) - 1)])
            tries += 1

    def _note_silence(self, error: NoAnswer) -> None:
        """Raise HostLost once the host has been silent for too long. While the link is not there, nobody knows."""
        if not error.by_host:
            self._silent = 0.0
            return
        now = time.monotonic()
        self._silent = self._silent or now
        if now - self._silent > self._patience:
            raise HostLost(f"no word from {self._host} for {span(now - self._silent)}: {one_line(str(error), 200)}")

    async def end_there(self) -> None:
        """End the worker on the host as far as a moment allows it, and take in what it still wrote."""
        try:
            async with asyncio.timeout(_LAST_WORDS):
                await self._ask(End(self._spec.id, self._attempt, "the engine ended it"))
                await self._link.follow()
        except (NoAnswer, NotThere, BadFrame, TimeoutError, files.StoreError, OSError) as error:
            sys.stderr.write(f"{self._host} was not reached to end it, and is told later: {error}\n")


def _has_ended(folder: Path, attempt: int) -> bool:
    """Return whether the worker of an attempt left what tells how it ended, or waits, or claims."""
    if (folder / "exit.json").exists() or task_records.read_parked(folder, attempt) is not None:
        return True
    return claims.unchecked(folder, attempt) is not None or task_records.why_put_back(folder, attempt) is not None


async def stand_in(folder: Path) -> int:
    """Be the proxy of the task in `folder`, whose lock is held. Return the exit code."""
    run = read_json(folder / "run.json", Run)
    if run is None or not run.host:
        sys.stderr.write("run.json names no host\n")
        return CANNOT_BEGIN
    proxy = TaskProxy(folder, run)
    running = asyncio.ensure_future(proxy.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    try:
        await running
    except asyncio.CancelledError:
        await proxy.end_there()
        return OVER
    except (HostLost, BadFrame, TooLarge) as error:
        proxy.give_up(str(error))
        return OVER
    except Refused as error:
        sys.stderr.write(f"{error}\n")
        directories.remove(folder / "run.json")  # nothing has begun: the task waits again
        return REFUSED
    return ENDED


def main(arguments: list[str]) -> int:
    """Check the call, take the lock and stand in."""
    os.umask(0o077)
    try:
        (named,) = arguments
        folder = Path(named).resolve(strict=True)
        ids.check_name(folder.name, "task id")
        lock = take_lock(folder, dict(os.environ))
    except (ValueError, OSError, NoLock, files.StoreError) as error:
        sys.stderr.write(f"usage: python -m lumen_tui.hosts.proxy TASK_FOLDER\n{error}\n")
        return CANNOT_BEGIN
    try:
        return asyncio.run(stand_in(folder))
    except (DamagedTask, files.StoreError, OSError) as error:
        sys.stderr.write(f"{error}\n")  # a full disk: the next proxy goes on
        return CANNOT_BEGIN
    finally:
        os.close(lock)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
