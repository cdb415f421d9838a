"""Hosts by Dask: a scheduler and hosts over TLS on loopback, and what nobody but the engine can have them do."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("distributed", reason="hosts need the extra of that name: pip install 'lumen-tui[hosts]'")

from distributed import Client, Scheduler
from distributed.core import rpc
from distributed.protocol import to_serialize
from distributed.protocol.serialize import ToPickle

from lumen_tui.hosts import service as host_service
from lumen_tui.hosts.certificates import BadCertificate, Credentials
from lumen_tui.hosts.dask_link import DaskWay, NoHost, join, security_of, start_scheduler
from lumen_tui.hosts.link import HostLink
from lumen_tui.hosts.messages import Begin, Describe, Look
from lumen_tui.hosts.remote_task import HostFolder
from lumen_tui.hosts.service import HostCaller, HostService
from lumen_tui.model.frames import Home
from lumen_tui.model.hosting import HostEntry
from lumen_tui.model.tasks import Run
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store.settings import hosts as hosts_of
from lumen_tui.store.tasks import homes


def service_in(folder: Path, who: Credentials) -> HostService:
    folders = HostFolder(folder, SystemClock())
    return HostService(
        folders, who, SystemClock(), slots=2, roles=(), resources={}, tier="landlock", keys=lambda spec: ()
    )


class Cluster:
    """A scheduler, the engine's way to it, and the hosts that joined."""

    def __init__(self, root: Path, issuer: Any, scheduler: Scheduler, stack: AsyncExitStack) -> None:
        self.root, self.issuer, self.scheduler, self.stack = root, issuer, scheduler, stack
        self.engine = issuer.engine()
        self.caller = HostCaller(self.engine, SystemClock(), DaskWay(scheduler).send)

    def names(self) -> list[str]:
        return [worker.name for worker in self.scheduler.workers.values()]

    async def host(self, name: str, who: Credentials | None = None) -> Any:
        """A host with a folder of its own joins; returns its Dask worker."""
        folder = self.root / f"host-{name}-{len(list(self.root.iterdir()))}"
        folder.mkdir()
        who = who or self.issuer.give(name)
        service = service_in(folder, who)
        worker = await join(service, who, self.scheduler.address, folder / "scratch")
        self.stack.push_async_callback(worker.close)
        return worker


@asynccontextmanager
async def started(root: Path, issuer: Any) -> AsyncIterator[Cluster]:
    engine = issuer.engine()
    async with AsyncExitStack() as stack:
        scheduler = await start_scheduler(engine, "127.0.0.1", 0, root)
        stack.push_async_callback(scheduler.close)
        yield Cluster(root, issuer, scheduler, stack)


Start = Callable[[], Any]


@pytest.fixture
def cluster(tmp_path: Path, issuer: Any) -> Start:
    root = tmp_path / "cluster"
    root.mkdir()
    return lambda: started(root, issuer)


async def test_a_task_runs_on_the_host_that_was_asked_and_comes_home(cluster, home):
    async with cluster() as hosts:
        for name in ("attic", "cellar", "loft"):
            await hosts.host(name)
        assert sorted(hosts.names()) == ["attic", "cellar", "loft"]
        assert all(address.startswith("tls://") for address in hosts.scheduler.workers)
        task_id = home.task()
        await hosts.caller.ask("cellar", Begin(home.order(task_id)))
        copier, alive = home.copier(task_id), True
        while alive:
            answer = await hosts.caller.ask("cellar", Look(task_id, 1, copier.seq, 5.0))
            copier.take(answer.frames)
            alive = answer.state.alive
        assert b'"done"' in (home.layout.task(task_id) / "exit.json").read_bytes()
        assert [place.parent.name.split("-")[1] for place in hosts.root.glob("*/tasks")] == ["cellar"]


async def test_a_host_keeps_what_has_not_come_home_and_nothing_else(cluster, home, monkeypatch):
    monkeypatch.setattr(host_service, "_KEPT", 0.0)
    hosts_of.change(home.layout, "attic", lambda _: HostEntry("attic", "2026-09-01T00:00:00Z", "ann"))
    async with cluster() as hosts:
        worker = await hosts.host("attic")
        came, given_up, unknown = (home.task() for _ in range(3))
        for task_id in (came, given_up, unknown):
            run = msgspec.json.encode(Run(1, "2026-09-01T00:00:00Z", host="attic"))
            (home.layout.task(task_id) / "run.json").write_bytes(run)
            await hosts.caller.ask("attic", Begin(home.order(task_id)))
            await home.link(hosts.caller, "attic", task_id).follow()
        homes.write(home.layout.task(given_up), Home(1, 3, "attic", "no word from attic for 5 m"))
        shutil.rmtree(home.layout.task(unknown))

        def there() -> set[str]:
            return {path.parent.name for path in hosts.root.glob("host-attic-*/tasks/*/1")}

        assert there() == {came, given_up, unknown}
        link = HostLink(home.layout, hosts.caller, hosts.scheduler, SystemClock())
        watching = asyncio.ensure_future(link.watch())
        deadline = asyncio.get_running_loop().time() + 60
        while came in there():
            assert asyncio.get_running_loop().time() < deadline and not watching.done()
            link.wake()
            await asyncio.sleep(0.05)
        watching.cancel()
        assert there() == {given_up, unknown}
        assert not any(sighting.facts.kept for sighting in hosts_of.sightings(home.layout).hosts.values())
        await worker.close()


async def test_an_order_of_many_megabytes_arrives_whole(cluster, home):
    async with cluster() as hosts:
        await hosts.host("attic")
        task_id = home.task()
        folder = home.layout.task(task_id) / "outputs"
        folder.mkdir()
        (folder / "1.txt").write_bytes(b"0123456789abcdef" * 1024 * 1024)
        order = home.order(task_id)
        assert (await hosts.caller.ask("attic", Begin(order))).refused == ""
        (there,) = hosts.root.glob("*/tasks/*/1/state/tasks/*/outputs/1.txt")
        assert there.read_bytes() == (folder / "1.txt").read_bytes()


async def test_a_host_that_is_gone_is_named_at_once_and_found_again_when_it_is_back(cluster):
    async with cluster() as hosts:
        worker = await hosts.host("attic")
        who = worker.name
        await worker.close()
        with pytest.raises(NoHost, match="host attic is not connected"):
            await hosts.caller.ask(who, Describe())
        await hosts.host("attic")
        assert (await hosts.caller.ask("attic", Describe())).facts.name == "attic"


async def test_without_its_scheduler_no_host_is_reached(cluster):
    async with cluster() as hosts:
        await hosts.host("attic")
        await hosts.scheduler.close()
        with pytest.raises(NoHost, match="host attic is not connected"):
            await hosts.caller.ask("attic", Describe())


async def test_a_second_host_of_the_same_name_is_not_taken(cluster):
    async with cluster() as hosts:
        await hosts.host("attic")
        with pytest.raises(NoHost, match="did not take attic"):
            await hosts.host("attic")


async def test_a_host_that_took_the_name_of_another_is_found_out(cluster):
    """Dask believes a worker whatever it calls itself; the certificate says who it is."""
    async with cluster() as hosts:
        worker = await hosts.host("cellar")
        hosts.scheduler.aliases["attic"] = worker.address
        with pytest.raises(BadCertificate, match="a request for attic, and this is cellar"):
            await hosts.caller.ask("attic", Describe())


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
async def test_a_certificate_of_another_authority_joins_nothing(cluster, forger):
    async with cluster() as hosts:
        with pytest.raises(NoHost):
            async with asyncio.timeout(30):
                await hosts.host("attic", forger.give("attic"))
        assert hosts.names() == []


async def test_no_host_joins_a_scheduler_without_tls(cluster):
    async with cluster() as hosts:
        hosts.scheduler._address = hosts.scheduler.address.replace("tls://", "tcp://")
        for address in ("tcp://127.0.0.1:8786", "127.0.0.1:8786", "inproc://x"):
            with pytest.raises(NoHost, match="no address of a scheduler: tls://HOST:PORT"):
                service = service_in(hosts.root, hosts.engine)
                await join(service, hosts.engine, address, hosts.root)


def touch(path: str) -> None:
    Path(path).touch()


class Touches:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return touch, (str(self.path),)


OPERATIONS = ("run", "run_function", "update_data", "plugin-add", "register_worker_plugin", "upload_file", "gather")
OPERATIONS += ("register_scheduler_plugin", "actor_execute", "terminate", "restart", "retire_workers", "identity")
OPERATIONS += ("broadcast", "proxy", "scatter", "benchmark_hardware")


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_the_certificate_of_a_host_runs_nothing_on_another_or_on_the_scheduler(cluster, tmp_path, operation):
    mark = tmp_path / "ran"
    async with cluster() as hosts:
        worker = await hosts.host("attic")
        thief = security_of(hosts.issuer.give("cellar"))
        for address in (worker.address, hosts.scheduler.address):
            peer = rpc(address, connection_args=thief.get_connection_args("client"), timeout=5)
            for harm in (to_serialize(Touches(mark)), ToPickle(Touches(mark)), pickle.dumps(Touches(mark))):
                with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError):
                    await getattr(peer, operation)(function=harm, data=harm, plugin=harm)
            await peer.close_rpc()
        assert not mark.exists()
        assert (await hosts.caller.ask("attic", Describe())).facts.name == "attic"


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
async def test_the_certificate_of_a_host_is_no_client_of_dask(cluster, tmp_path):
    mark = tmp_path / "ran"
    async with cluster() as hosts:
        await hosts.host("attic")
        thief = security_of(hosts.issuer.give("cellar"))
        client = Client(hosts.scheduler.address, security=thief, asynchronous=True, timeout=3, set_as_default=False)
        with pytest.raises((OSError, ValueError, TimeoutError, RuntimeError, KeyError, TypeError, AttributeError)):
            async with asyncio.timeout(20), client:
                await client.submit(touch, str(mark))
        assert not mark.exists()
        assert (await hosts.caller.ask("attic", Describe())).facts.name == "attic"


async def test_no_module_is_looked_for_where_dask_keeps_scratch_files(cluster):
    async with cluster() as hosts:
        worker = await hosts.host("attic")
        for server in (worker, hosts.scheduler):
            assert server.local_directory not in sys.path
            assert Path(server.local_directory).is_relative_to(hosts.root)


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
async def test_what_a_host_sends_is_not_unpickled(cluster, tmp_path):
    mark = tmp_path / "ran"
    async with cluster() as hosts:
        worker = await hosts.host("attic")

        async def answer(sealed: bytes) -> object:
            return {"sealed": to_serialize(Touches(mark))}

        worker.handlers["lumen"] = answer
        with pytest.raises((BadCertificate, NoHost)):
            await hosts.caller.ask("attic", Describe())
        assert not mark.exists()
