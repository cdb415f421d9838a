"""A task on a host: the ordinary worker, which outlives whoever started it, and never two of one task."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from pathlib import Path

import msgspec
import pytest
from lumen_kills import killed_before, state_calls
from lumen_remote import sent_home
from lumen_until import until

from lumen_tui.hosts.remote_task import HostFolder, OrderRefused, RemoteTask
from lumen_tui.model.frames import HostLease, HostOrder
from lumen_tui.model.tasks import Exit, Run
from lumen_tui.storage import process
from lumen_tui.storage.clock import SystemClock
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import leases
from lumen_tui.store.tasks.task_records import read_json

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
FOLDERS = ("/", "/bin", "/dev", "/etc", "/home", "/lib", "/opt", "/sbin", "/tmp", "/usr", "/var")
STEPS = [("list_dir", {"path": path}) for path in FOLDERS]


def killed(act) -> None:
    """Do it in a process that is killed with SIGKILL right behind it."""
    child = os.fork()
    if not child:
        try:
            act()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def pid_of(task: RemoteTask) -> int:
    run = read_json(task.folder / "run.json", Run)
    assert run is not None
    return run.pid


async def test_a_task_done_on_a_host_is_here_as_if_it_had_been_done_here(home, host):
    task_id = home.task()
    task = await host.begin(home.order(task_id))
    task.launch(())
    until(lambda: not home.tend(task))
    assert home.fetch(task) == task.state().last
    assert sent_home(home.layout.task(task_id)) == sent_home(task.folder)
    record = read_json(home.layout.task(task_id) / "exit.json", Exit)
    assert record is not None and (record.status, record.brain) == ("done", "offline: largest-files")
    assert len(list(home.layout.transcripts.glob("*.jsonl"))) == 1


@pytest.mark.parametrize(
    ("own", "then"), [("[approvals]\nask = []\n", ["shell:any"]), ("", ["custom:high", "shell:any"])]
)
async def test_what_is_asked_for_at_home_is_asked_for_on_a_host(home, host, own, then):
    home.layout.config.write_text('[approvals]\nask = ["shell:any"]\n')
    (host.root / "lumen.toml").write_text(own)
    task = await host.begin(home.order(home.task()))
    assert list(load_config(Layout(task.folder.parents[1]))[0].approvals.ask) == then


async def test_broken_settings_of_a_host_leave_everything_to_a_person(home, host):
    home.layout.config.write_text("[approvals]\nask = []\n")
    (host.root / "lumen.toml").write_text("[approvals\n")
    task = await host.begin(home.order(home.task()))
    asked = load_config(Layout(task.folder.parents[1]))[0].approvals.ask
    assert {"shell", "write", "custom", "web_fetch"} <= set(asked)


async def test_a_worker_outlives_its_launcher_and_is_found_again(home, host, server):
    server.script = [*STEPS, 1.0, "The answer."]
    order = home.order(home.task("anything"))
    task = await host.begin(order)
    killed(lambda: task.launch(KEYS))
    until(lambda: home.tend(task) and len(server.asked) > 3)
    again = HostFolder(host.root, SystemClock())
    assert again.alive() == [(order.task_id, 1)]
    pid = pid_of(task)
    attached = await again.begin(order)
    attached.launch(KEYS)
    assert attached.state().alive and pid_of(attached) == pid
    assert os.getsid(pid) == pid
    until(lambda: not home.tend(attached))
    home.fetch(attached)
    assert len(server.asked) == 12
    record = read_json(home.layout.task(order.task_id) / "exit.json", Exit)
    assert record is not None and record.status == "done"


async def test_a_launcher_killed_at_any_moment_leaves_one_worker_at_most(home, host, sampled):
    order = home.order(home.task())

    def begin(root: Path) -> None:
        async def launch() -> None:
            (await HostFolder(root, SystemClock()).begin(order)).launch(())

        asyncio.run(launch())

    first = host.root / "first"
    first.mkdir()
    calls = await asyncio.to_thread(state_calls, first, partial(begin, first))
    for point in sampled(list(range(len(calls))), 6):
        root = host.root / f"at-{point}"
        root.mkdir()
        assert await asyncio.to_thread(killed_before, point, root, partial(begin, root))
        found = HostFolder(root, SystemClock())
        task = await found.begin(order)
        task.launch(())
        until(lambda task=task: not task.state().alive)
        assert _events(task).count(b'"kind":"started"') <= 1
        assert len(list(task.folder.glob("run.*.json"))) == 0


async def test_started_twice_there_is_one_worker(home, host, server):
    server.script = [1.0]
    order = home.order(home.task("anything"))
    tasks = [await host.begin(order), await host.begin(order)]
    for task in tasks:
        task.launch(KEYS)
    assert pid_of(tasks[0]) == pid_of(tasks[1])
    until(lambda: not home.tend(tasks[0]))
    assert len(server.asked) == 1


async def test_a_worker_that_was_killed_is_gone_and_not_begun_again_by_itself(home, host, server):
    server.script = [*STEPS, 30.0]
    order = home.order(home.task("anything"))
    task = await host.begin(order)
    task.launch(KEYS)
    until(lambda: home.tend(task) and len(server.asked) > 4)
    os.kill(pid_of(task), signal.SIGKILL)
    until(lambda: not home.tend(task))
    again = await host.begin(order)
    again.launch(KEYS)
    state = again.state()
    assert not state.alive
    home.fetch(again)
    assert not (home.layout.task(order.task_id) / "exit.json").exists()


async def test_a_killed_worker_goes_on_elsewhere_from_what_came_home(home, host, server, tmp_path):
    """No step that was finished is made again, and the numbers of the steps go on."""
    server.script = [*STEPS[:5], 30.0]
    task_id = home.task("anything")
    first = await host.begin(home.order(task_id))
    first.launch(KEYS)
    until(lambda: home.tend(first) and len(server.asked) == 6)
    os.kill(pid_of(first), signal.SIGKILL)
    until(lambda: not home.tend(first))
    home.fetch(first)
    folder = home.layout.task(task_id)
    (folder / "run.1.json").write_bytes(msgspec.json.encode(Run(1, "2026-01-01T00:00:00Z", notes_begun=True)))
    server.script = [*STEPS[5:], "The answer."]
    other = HostFolder(tmp_path / "other", SystemClock())
    second = await other.begin(home.order(task_id, 2))
    second.launch(KEYS)
    until(lambda: not home.tend(second))
    home.fetch(second)
    assert [path.name for path in folder.glob("exit.json")] == ["exit.json"]
    calls = [line for line in (folder / "events.jsonl").read_bytes().splitlines() if b'"kind":"call"' in line]
    assert len(calls) == len(STEPS)
    assert read_json(folder / "exit.json", Exit).attempt == 2


async def test_an_attempt_that_is_over_is_refused_and_a_later_one_ends_it(home, host, server):
    server.script = [30.0, 30.0]
    task_id = home.task("anything")
    first = home.order(task_id)
    one = await host.begin(first)
    one.launch(KEYS)
    until(lambda: home.tend(one) and len(server.asked) == 1)
    files = {**first.files, f"tasks/{task_id}/run.1.json": msgspec.json.encode(Run(1, "2026-01-01T00:00:00Z"))}
    two = await host.begin(HostOrder(task_id, 2, first.role, files))
    assert not one.state().alive
    two.launch(KEYS)
    assert host.alive() == [(task_id, 2)]
    with pytest.raises(OrderRefused, match=f"attempt 1 at {task_id} is over: attempt 2 began here"):
        await host.begin(first)
    await two.end("the test is over")
    assert host.alive() == []


async def test_a_worker_whose_lease_is_over_finishes_its_step_and_rests_until_it_is_renewed(home, host, server):
    server.script = [*STEPS, "The answer."]
    task = await host.begin(home.order(home.task("anything")))
    over = HostLease(0.0, process.boot_id())
    task.renew()
    (task.folder / leases.NAME).write_bytes(msgspec.json.encode(over))
    task._clock = _Still()
    task.launch(KEYS)
    until(lambda: b'"started"' in _events(task))
    asked = len(server.asked)
    task._clock = SystemClock()
    task.renew()
    until(lambda: not home.tend(task))
    assert asked == 0 and len(server.asked) == 12


class _Still(SystemClock):
    """Since boot no time has passed that would last: what it renews is over at once."""

    def running(self) -> float:
        return -leases.SECONDS


def _events(task: RemoteTask) -> bytes:
    path = task.folder / "events.jsonl"
    return path.read_bytes() if path.exists() else b""


def test_a_lease_of_another_boot_or_that_cannot_be_read_is_over(tmp_path):
    assert not leases.is_over(tmp_path, 100.0)  # none is needed here
    leases.renew(tmp_path, 100.0)
    assert not leases.is_over(tmp_path, 100.0 + leases.SECONDS - 1)
    assert leases.is_over(tmp_path, 100.0 + leases.SECONDS)
    (tmp_path / leases.NAME).write_bytes(msgspec.json.encode(HostLease(1e12, "another boot")))
    assert leases.is_over(tmp_path, 100.0)
    (tmp_path / leases.NAME).write_bytes(b"\xff{")
    assert leases.is_over(tmp_path, 100.0)
    leases.renew(tmp_path, 100.0)
    assert not leases.is_over(tmp_path, 100.0)


async def test_an_order_that_brings_a_foreign_file_begins_nothing(home, host):
    order = home.order(home.task())
    for path in ("lumen.toml", "tasks/../../x", f"tasks/{order.task_id}/run.lock", "tasks/tsk-other/spec.json"):
        bad = msgspec.structs.replace(order, files={**order.files, path: b"x"})
        with pytest.raises(OrderRefused, match="which is no file of a task"):
            await host.begin(bad)
    assert host.attempts(order.task_id) == [] and host.alive() == []


async def test_a_worker_is_told_to_end_and_to_rest_and_nothing_else(home, host, server):
    server.script = [30.0]
    task = await host.begin(home.order(home.task("anything")))
    task.launch(KEYS)
    until(lambda: home.tend(task) and len(server.asked) == 1)
    with pytest.raises(OrderRefused):
        task.order("spec.json", b"{}")
    stop = home.layout.task(task.task_id) / "stop.json"
    stop.write_bytes(b'{"status": "cancelled", "reason": "enough"}')
    until(lambda: not home.tend(task))
    assert read_json(task.folder / "exit.json", Exit).reason == "enough"


@pytest.mark.threat("S7", "keys of workers: environment, zygote, log, events, transcript, orders to hosts")
async def test_no_key_is_in_an_order(home, server):
    assert b"sk-ant" not in msgspec.msgpack.encode(home.order(home.task("anything")))
