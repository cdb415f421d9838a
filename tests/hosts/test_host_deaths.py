"""A scheduler and hosts as processes over TLS, killed at any frame of a task of twelve steps: it is done once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("distributed", reason="hosts need the extra of that name: pip install 'lumen-tui[hosts]'")

from lumen_tui.hosts.certificates import BadCertificate
from lumen_tui.hosts.dask_link import DaskWay, NoHost
from lumen_tui.hosts.messages import Begin, Demand, Describe, HostAnswer, Look
from lumen_tui.hosts.service import HostCaller
from lumen_tui.hosts.task_link import TaskLink
from lumen_tui.model.tasks import Exit, Run
from lumen_tui.storage import process
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.tasks.task_records import read_json

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("/", "/bin", "/dev", "/etc", "/home", "/lib", "/opt", "/sbin", "/tmp", "/usr", "/var")
STEPS = [("list_dir", {"path": path}) for path in FOLDERS]
SERVE = """
import asyncio, signal, sys
from pathlib import Path
from lumen_tui.hosts.program import HostOptions, serve_host, serve_scheduler

async def main(words):
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    if words[0] == "scheduler":
        await serve_scheduler(Path(words[1]), Path(words[2]), "127.0.0.1", int(words[3]), stop)
    else:
        await serve_host(HostOptions(Path(words[1]), Path(words[2]), words[3], slots=2), stop)

asyncio.run(main(sys.argv[1:]))
"""


class Machines:
    """One scheduler and hosts, each a process with a folder of its own; `caller` is the engine's side."""

    def __init__(self, root: Path, issuer: Any) -> None:
        self.root, self.issuer = root, issuer
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tls://127.0.0.1:{self.port}"
        self.engine = issuer.engine()
        self.children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        if name == "scheduler":
            words = ["scheduler", str(self.root / name), str(self.engine.path), str(self.port)]
        else:
            path = self.root / f"{name}.pem"
            if not path.exists():
                path.write_bytes(self.issuer.give(name).path.read_bytes())
            words = ["host", str(self.root / name), str(path), self.address]
        with open(self.root / f"{name}.log", "ab") as log:
            self.children[name] = subprocess.Popen(
                [sys.executable, "-c", SERVE, *words], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def kill(self, name: str) -> None:
        child = self.children.pop(name)
        child.kill()
        child.wait()

    def restart(self, *names: str) -> None:
        """Kill all of them before the first comes back."""
        for name in names:
            self.kill(name)
        for name in names:
            self.start(name)

    async def ask(self, host: str, demand: Demand, seconds: float = 60.0) -> HostAnswer:
        """Ask as a proxy does: whatever is down comes back, and is asked again."""
        deadline = time.monotonic() + seconds
        while True:
            way = DaskWay(self.engine, self.address)
            try:
                async with asyncio.timeout(20):
                    return await HostCaller(self.engine, SystemClock(), way.send).ask(host, demand)
            except (NoHost, TimeoutError) as error:
                assert time.monotonic() < deadline, f"{error}: {self.logs()}"
                await asyncio.sleep(0.2)
            finally:
                with contextlib.suppress(OSError):
                    await way.close()

    def logs(self) -> str:
        return "\n".join(path.read_text()[-1500:] for path in self.root.glob("*.log"))

    def kill_worker(self, host: str, task_id: str) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.worker(host, task_id), signal.SIGKILL)

    def worker(self, host: str, task_id: str, attempt: int = 1) -> int:
        folder = self.root / host / "tasks" / task_id / str(attempt) / "state" / "tasks" / task_id
        run = read_json(folder / "run.json", Run)
        assert run is not None
        return run.pid


@pytest.fixture
def machines(tmp_path: Path, issuer: Any, sandbox: None) -> Iterator[Machines]:
    root = tmp_path / "machines"
    root.mkdir()
    made = Machines(root, issuer)
    yield made
    for name in list(made.children):
        made.kill(name)
    for path in root.rglob("run.lock"):
        process.kill_lock_holders(str(path))


async def follow(
    machines: Machines, home: Any, host: str, task_id: str, attempt: int = 1, at: dict[int, Any] | None = None
) -> HostAnswer:
    """Follow an attempt to its end, and do what `at` says once so many frames are here."""
    acts = at or {}
    link = TaskLink(partial(machines.ask, host), home.layout, home.spec(task_id), attempt, host, time.time)
    following = asyncio.ensure_future(link.follow())
    while not following.done():
        for frame in [frame for frame in acts if link.seq >= frame]:
            await asyncio.to_thread(acts.pop(frame))
        await asyncio.wait({following}, timeout=0.02)
    following.result()
    return await machines.ask(host, Look(task_id, attempt))


def calls(home: Any, task_id: str) -> list[str]:
    lines = (home.layout.task(task_id) / "events.jsonl").read_bytes().splitlines()
    events = [msgspec.json.decode(line) for line in lines]
    return [event["text"] for event in events if event["kind"] == "call"]


DEATHS = [
    (frame, victims) for frame in range(2, 60, 3) for victims in (("scheduler",), ("host",), ("scheduler", "host"))
]
HOSTS = ("attic", "cellar", "loft")


@pytest.mark.long
async def test_whoever_is_killed_between_engine_and_worker_each_step_is_made_once(machines, home, server, sampled):
    for name in ("scheduler", *HOSTS):
        machines.start(name)
    for at, (frame, victims) in enumerate(sampled(DEATHS, 4)):
        server.script = [*STEPS, "The answer."]
        before, host = len(server.asked), HOSTS[at % len(HOSTS)]
        task_id = home.task("anything")
        assert (await machines.ask(host, Begin(home.order(task_id)))).refused == ""
        acts = {frame: partial(machines.restart, *(host if victim == "host" else victim for victim in victims))}
        await follow(machines, home, host, task_id, 1, acts)
        record = read_json(home.layout.task(task_id) / "exit.json", Exit)
        assert record is not None and record.status == "done"
        assert len(server.asked) - before == 12
        assert len(calls(home, task_id)) == len(set(calls(home, task_id))) == 11
        book = Ledger(home.layout).refresh()
        assert book.tasks[task_id].calls == 12 and not book.open and not book.lost


@pytest.mark.long
async def test_a_worker_that_is_killed_is_lost_there_and_goes_on_on_another_host_as_the_next_attempt(
    machines, home, server, sampled
):
    for name in ("scheduler", "attic", "cellar"):
        machines.start(name)
    for frame in sampled(list(range(6, 40, 4)), 2):
        server.script = [*STEPS, "The answer."]
        task_id = home.task("anything")
        folder = home.layout.task(task_id)
        await machines.ask("attic", Begin(home.order(task_id)))
        acts = {frame: partial(machines.kill_worker, "attic", task_id)}
        answer = await follow(machines, home, "attic", task_id, 1, acts)
        assert not answer.state.alive
        again = await machines.ask("attic", Begin(home.order(task_id)))
        assert not again.state.alive
        if (folder / "exit.json").exists():
            continue  # it had ended before the kill
        (folder / "run.1.json").write_bytes(msgspec.json.encode(Run(1, "2026-01-01T00:00:00Z", notes_begun=True)))
        server.script = [*[step for step in STEPS if not _made(home, task_id, step)], "The answer."]
        assert (await machines.ask("cellar", Begin(home.order(task_id, 2)))).refused == ""
        await follow(machines, home, "cellar", task_id, 2)
        record = read_json(folder / "exit.json", Exit)
        assert record is not None and (record.status, record.attempt) == ("done", 2)


def _made(home: Any, task_id: str, step: tuple[str, dict[str, str]]) -> bool:
    steps = (home.layout.task(task_id) / "steps.jsonl").read_bytes()
    return msgspec.json.encode(step[1]) in steps


async def test_hosts_describe_themselves_and_a_wrong_clock_shows(machines):
    machines.start("scheduler")
    machines.start("attic")
    facts = (await machines.ask("attic", Describe())).facts
    assert facts.tier in ("bubblewrap", "landlock") and abs(facts.now - time.time()) < 10


async def test_a_second_program_on_the_folder_of_a_host_does_not_start(machines):
    machines.start("scheduler")
    machines.start("attic")
    await machines.ask("attic", Describe())
    words = ["host", str(machines.root / "attic"), str(machines.root / "attic.pem"), machines.address]
    second = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", SERVE, *words], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert second.returncode != 0
    assert "is the folder of a host that runs already: give this one its own" in second.stderr


async def test_a_host_that_is_asked_to_end_leaves_and_its_worker_goes_on(machines, home, server):
    machines.start("scheduler")
    machines.start("attic")
    server.script = [*STEPS[:3], 3.0]
    task_id = home.task("anything")
    await machines.ask("attic", Begin(home.order(task_id)))
    pid = machines.worker("attic", task_id)
    child = machines.children.pop("attic")
    child.terminate()
    assert await asyncio.to_thread(child.wait, 30) == 0
    os.kill(pid, 0)
    with pytest.raises((NoHost, BadCertificate)):
        way = DaskWay(machines.engine, machines.address)
        await HostCaller(machines.engine, SystemClock(), way.send).ask("attic", Describe())
    machines.start("attic")
    await follow(machines, home, "attic", task_id)
    record = read_json(home.layout.task(task_id) / "exit.json", Exit)
    assert record is not None and record.status == "done"
