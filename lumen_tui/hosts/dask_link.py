"""Hosts by dask.distributed: its scheduler knows who is there, its connections carry sealed messages, over TLS alone.

Nothing else of it is used. A worker or a scheduler of Dask carries out whatever function anybody with a certificate
sends, and any peer unpickles what arrives before it looks at it. Ours have lost every handler but those that membership
needs and the one for sealed messages, and in a process that has come here nothing is unpickled any more. So the
certificate of a host runs nothing on another host or on the engine's machine.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.hosts.certificates import BadCertificate, Credentials
from lumen_tui.hosts.service import HostService
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from distributed import Scheduler, Worker
    from distributed.security import Security

_OPERATION = "lumen"
_PATIENCE = 10.0  # seconds for a scheduler to answer
_HOST_HANDLERS = frozenset({"connection_stream", "identity", "ping"})
_HOST_STREAMS = frozenset({"close", "remove-worker", "worker-status-change"})
_SCHEDULER_HANDLERS = frozenset({"connection_stream", "heartbeat_worker", "register-worker", "unregister"})
_SCHEDULER_STREAMS = frozenset({"keep-alive", "log-event", "worker-status-change"})
_SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.disk": False,
    "distributed.comm.timeouts.connect": "5s",
    "distributed.comm.timeouts.tcp": "20s",
    "distributed.comm.require-encryption": True,
}


class NoHost(Exception):
    """A host cannot be asked now; the text says why."""


def security_of(credentials: Credentials) -> Security:
    """Return the TLS settings of whoever has these credentials: both sides show a certificate of our authority."""
    from distributed.security import Security

    names = [f"tls_{role}_{part}" for role in ("client", "worker", "scheduler") for part in ("cert", "key")]
    return Security(
        tls_ca_file=credentials.authority_pem,
        require_encryption=True,
        tls_min_version=ssl.TLSVersion.TLSv1_3,
        **dict.fromkeys(names, str(credentials.path)),
    )


def _prepare() -> None:
    """Set Dask up for this process, for good: encrypted, quiet, and without pickles. Everything of ours is plain."""
    import dask
    from distributed.protocol import pickle

    dask.config.set(_SETTINGS)
    logging.getLogger("distributed").setLevel(logging.ERROR)
    pickle.loads = _refuse


def _refuse(*_: object, **__: object) -> object:
    raise ValueError("a pickle came from another host: it is not opened")


def _restrict(server: Scheduler | Worker, handlers: frozenset[str], streams: frozenset[str]) -> None:
    """Take every handler away but these, and the folder of scratch files from where modules are looked for."""
    sys.path[:] = [place for place in sys.path if place != server.local_directory]
    server.handlers = {name: handler for name, handler in server.handlers.items() if name in handlers}
    server.stream_handlers = {name: handler for name, handler in server.stream_handlers.items() if name in streams}


async def start_scheduler(credentials: Credentials, host: str, port: int, scratch: Path) -> Scheduler:
    """Start the scheduler at an address of this machine; port 0: any that is free. `scratch` is a folder of its own."""
    import dask
    from distributed import Scheduler

    _prepare()
    dask.config.set({"temporary-directory": str(scratch)})
    scheduler = Scheduler(
        host=host,
        port=port,
        protocol="tls",
        security=security_of(credentials),
        extensions={},
        dashboard=False,
        dashboard_address="127.0.0.1:0",
    )
    _restrict(scheduler, _SCHEDULER_HANDLERS, _SCHEDULER_STREAMS)
    await scheduler
    scheduler.http_server.stop()  # pages that anybody on the machine could read
    return scheduler


def on_change(scheduler: Scheduler, changed: Callable[[], None]) -> None:
    """Have `changed` called whenever a host has joined or is gone."""
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Joins(SchedulerPlugin):
        """Hears of hosts."""

        def add_worker(self, scheduler: Scheduler, worker: str) -> None:
            changed()

        def remove_worker(self, scheduler: Scheduler, worker: str, **_: object) -> None:
            changed()

    scheduler.add_plugin(Joins(), name="lumen")


async def join(service: HostService, credentials: Credentials, scheduler: str, scratch: Path, port: int = 0) -> Worker:
    """Make a host known to the scheduler at `scheduler`, tls://HOST:PORT. NoHost where it does not take it.

    The host is asked at `port`; 0: any that is free.
    """
    from distributed import Worker

    await _must_be_ours(credentials, scheduler)
    worker = Worker(
        scheduler,
        name=service.name,
        port=port,
        nthreads=1,
        memory_limit=0,
        resources={"lumen": service.slots},
        extensions={},
        security=security_of(credentials),
        dashboard=False,
        dashboard_address="127.0.0.1:0",
        local_directory=str(scratch),
    )
    _restrict(worker, _HOST_HANDLERS, _HOST_STREAMS)

    async def answer(sealed: bytes) -> Mapping[str, object]:
        try:
            return {"sealed": await service.answer(sealed)}
        except BadCertificate as error:
            return {"refused": str(error)}

    worker.handlers[_OPERATION] = answer
    try:
        async with asyncio.timeout(_PATIENCE):
            await worker
    except (OSError, RuntimeError, ValueError, TimeoutError) as error:
        await worker.close()
        reason = one_line(str(error.__cause__ or error), 200) or f"no answer within {_PATIENCE:.0f} s"
        raise NoHost(f"the scheduler at {scheduler} did not take {service.name}: {reason}") from error
    worker.http_server.stop()
    return worker


async def _must_be_ours(credentials: Credentials, scheduler: str) -> None:
    """Raise NoHost where no scheduler of our authority is at that address: a worker of Dask would try for ever."""
    from distributed.comm.core import connect

    if not scheduler.startswith("tls://"):
        raise NoHost(f"{one_line(scheduler, 100)} is no address of a scheduler: tls://HOST:PORT")
    _prepare()
    try:
        arguments = security_of(credentials).get_connection_args("worker")
        comm = await connect(scheduler, timeout=_PATIENCE, **arguments)
    except (OSError, ValueError) as error:
        reason = one_line(str(error.__cause__ or error), 200)
        raise NoHost(f"no scheduler of ours is at {one_line(scheduler, 100)}: {reason}") from error
    await comm.close()


class DaskWay:
    """Takes bytes to a host and brings its answer back, by connections that stay open; it unpickles nothing."""

    def __init__(self, scheduler: Scheduler) -> None:
        """Know the hosts that joined a scheduler of this process."""
        self._scheduler = scheduler

    async def send(self, host: str, sealed: bytes) -> bytes:
        """Return what a host answered. NoHost, BadCertificate."""
        address = self._scheduler.aliases.get(host)
        if address is None:
            raise NoHost(f"host {host} is not connected")
        try:
            answer = await getattr(self._scheduler.rpc(address), _OPERATION)(sealed=sealed)
        except (OSError, TypeError, ValueError, RuntimeError) as error:
            raise NoHost(f"host {host} does not answer: {one_line(str(error), 200)}") from error
        if not isinstance(answer, dict):
            raise NoHost(f"host {host} gave no answer")
        if refused := answer.get("refused"):
            raise BadCertificate(f"{host} refuses: {one_line(str(refused), 300)}")
        body = answer.get("sealed")
        if not isinstance(body, bytes):
            raise BadCertificate(f"host {host} answers in another way")
        return body
