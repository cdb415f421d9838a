"""The program of a host: it serves until it is asked to end.

Dask ends a worker whose scheduler is gone. The program joins again, for as long as it takes, and the workers of tasks
know nothing of it: they are processes of their own.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine
from pathlib import Path

from msgspec import Struct

from lumen_tui.engine.service_manager import ServiceManager
from lumen_tui.hosts.certificates import HOST, BadCertificate, Credentials
from lumen_tui.hosts.dask_link import NoHost, join
from lumen_tui.hosts.remote_task import HostFolder
from lumen_tui.hosts.service import WARM, HostService
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.providers.choose import key_names, kind_of, provider_name
from lumen_tui.storage import directories, locks
from lumen_tui.storage.clock import SystemClock
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.sandbox import tiers

_SCRATCH = "scratch"
_AGAIN = (0.5, 1.0, 2.0, 5.0, 10.0)  # seconds between two attempts to join; the last one repeats


class HostOptions(Struct, frozen=True):
    """What a host is told when it starts. `roles` empty: it does tasks of any role."""

    folder: Path
    certificate: Path
    scheduler: str  # tls://HOST:PORT
    slots: int = 1
    roles: tuple[str, ...] = ()
    resources: dict[str, int] = {}
    port: int = 0  # at which it is asked; 0: any that is free


class CannotServe(Exception):
    """A host cannot start; the text says what a person must do."""


async def serve_host(options: HostOptions, stop: asyncio.Event, manager: ServiceManager) -> None:
    """Be a host until `stop` is set, and tell `manager` how it is; the workers of its tasks go on behind it.

    CannotServe, StoreError, OSError.
    """
    os.umask(0o077)
    clock = SystemClock()
    credentials = _credentials(options.certificate, clock.now())
    if credentials.signer.kind != HOST:
        raise CannotServe(f"{options.certificate} is the certificate of the {credentials.signer.kind}, not of a host")
    if options.slots < 1:
        raise CannotServe(f"{options.slots} slots will not do: a host does one task at a time or more")
    if not 0 <= options.port <= 65535:
        raise CannotServe(f"{options.port} is no port: 1 to 65535, or 0 for any that is free")
    directories.make_folder(options.folder)
    lock = locks.try_lock(options.folder / "host.lock")
    if lock is None:
        raise CannotServe(f"{options.folder} is the folder of a host that runs already: give this one its own")
    try:
        service = _service(options, credentials, clock)
        manager.ready()
        feeding = asyncio.ensure_future(_feed(manager, clock))
        try:
            await _stay_joined(service, credentials, options, stop, manager)
        finally:
            manager.stopping("it has left" if service.left.is_set() else "asked to end")
            feeding.cancel()
            service.close()
    finally:
        os.close(lock)


def _credentials(path: Path, now: float) -> Credentials:
    try:
        return Credentials(path, now)
    except BadCertificate as error:
        raise CannotServe(str(error)) from error


def _service(options: HostOptions, credentials: Credentials, clock: SystemClock) -> HostService:
    """Return what the host answers. Settings, endpoints and keys are the host's own; none comes with a task."""
    layout = Layout(options.folder)
    directories.make_folder(layout.index)
    path = os.environ.get("PATH", os.defpath)
    sandbox = load_config(layout)[0].sandbox
    choice = tiers.choose(sandbox, tiers.current_results(layout.index, path, sandbox))

    def keys(spec: Spec) -> tuple[str, ...]:
        models = load_config(layout)[0].models
        return key_names(provider_name(models, os.environ), models, role=spec.role, model=spec.model)

    folder, models = HostFolder(options.folder, clock), load_config(layout)[0].models
    folder.backend.configure(kind_of(models, provider_name(models, os.environ)))
    folder.backend.warm_up(WARM)
    return HostService(
        folder,
        credentials,
        clock,
        slots=options.slots,
        roles=options.roles,
        resources=options.resources,
        tier=choice.tier,
        keys=keys,
    )


async def _feed(manager: ServiceManager, clock: SystemClock) -> None:
    """Tell a service manager that waits for it, now and then, that this is not stuck."""
    while manager.patience:
        manager.alive(clock.running())
        await asyncio.sleep(manager.patience / 2)


async def _stay_joined(
    service: HostService,
    credentials: Credentials,
    options: HostOptions,
    stop: asyncio.Event,
    manager: ServiceManager,
) -> None:
    """Join, and join again whenever the scheduler was lost; each reason why it cannot is told once."""
    told, tries = "", 0
    while not (stop.is_set() or service.left.is_set()):
        try:
            worker = await join(service, credentials, options.scheduler, options.folder / _SCRATCH, options.port)
        except NoHost as error:
            told = _tell(str(error), told, manager)
            await _wait(stop, _AGAIN[min(tries, len(_AGAIN) - 1)])
            tries += 1
            continue
        told, tries = _tell(f"{service.name} has joined {one_line(options.scheduler, 100)}", told, manager), 0
        await _first_of(worker.finished(), stop.wait(), service.left.wait())
        await worker.close()


def _tell(text: str, told: str, manager: ServiceManager) -> str:
    if text != told:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    manager.status(text)
    return text


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return


async def _first_of(*waits: Coroutine[object, object, object]) -> None:
    """Return when the first of these has come, and wait for none of the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
