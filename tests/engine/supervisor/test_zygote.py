"""The zygote makes starts quick and changes nothing else: the same worker, the same guarantees, cold where it fails."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from lumen_tree import long_walk
from lumen_until import until

from lumen_tui.engine.supervisor import workers
from lumen_tui.engine.supervisor import zygote as zygotes
from lumen_tui.engine.supervisor.zygote import ZygoteClient
from lumen_tui.storage import locks, process

EASY = "What are the 3 largest files in /etc?"


def slow() -> str:
    return f"How big is {long_walk()}?"


@pytest.fixture
def zygote(world):
    found = ZygoteClient(world.layout.engine_log)

    def usable() -> bool:
        found.launch("offline", workers.worker_env(()), 60.0)  # once more where the code was changed meanwhile
        return found.usable("offline")

    until(usable)
    yield found
    found.kill()


def start(world, task_id: str, zygote: ZygoteClient | None, **env: str):
    return workers.start(
        world.layout.task(task_id), env=workers.worker_env(()) | env, kind="offline", epoch=1, now=world.clock.now(),
        zygote=zygote,
    )  # fmt: skip


def exit_of(world, task_id: str) -> dict:
    path = world.layout.task(task_id) / "exit.json"
    until(path.exists)
    return json.loads(path.read_bytes())


def test_a_fork_does_the_task_like_a_cold_start(world, zygote):
    warm, cold = world.task(EASY), world.task(EASY)
    born = start(world, warm, zygote)
    assert born.child is None and born.leader.start_ticks > 0
    assert start(world, cold, None).child is not None
    ended = [exit_of(world, name) for name in (warm, cold)]
    assert [(one["status"], one["brain"]) for one in ended] == [("done", "offline: largest-files")] * 2
    results = [(world.layout.task(name) / "result.md").read_text() for name in (warm, cold)]
    assert results[0].splitlines()[0] == results[1].splitlines()[0]
    names = [{path.name for path in world.layout.task(name).iterdir()} for name in (warm, cold)]
    assert names[0] == names[1]


def test_a_fork_has_a_session_a_folder_and_an_environment_of_its_own(world, zygote):
    task_id = world.task(slow())
    born = start(world, task_id, zygote, LUMEN_TEST_SECRET="sk-of-this-task-only")
    until(lambda: os.getsid(born.pid) == born.pid and list(world.layout.task(task_id).glob("events*")))
    os.kill(born.pid, signal.SIGSTOP)
    until(lambda: process.state_letter(born.pid) == "T")
    assert born.pid in process.session_members({born.pid})
    assert os.getsid(zygote.pid) == zygote.pid != os.getsid(0)
    if os.geteuid() == 0:
        assert os.readlink(f"/proc/{born.pid}/cwd") == str(world.layout.task(task_id))
        opened = {os.readlink(f"/proc/{born.pid}/fd/{name}") for name in os.listdir(f"/proc/{born.pid}/fd")}
        assert not any(name.startswith(("socket:", "pipe:", "anon_inode:")) for name in opened)
        assert str(world.layout.task(task_id) / "run.lock") in opened
    os.kill(born.pid, signal.SIGKILL)


def test_no_process_of_the_same_user_may_look_into_it(world, zygote):
    with open(f"/proc/{zygote.pid}/status", encoding="ascii") as file:
        assert "lumen-zygote" in file.readline()
    assert os.stat(f"/proc/{zygote.pid}/environ").st_uid == 0


@pytest.mark.fault("R10", "an engine killed while workers run; numbers of processes used again")
def test_never_two_on_one_task(world, zygote):
    task_id = world.task(slow())
    assert start(world, task_id, zygote) is not None
    assert start(world, task_id, zygote) is None
    assert start(world, task_id, None) is None


def test_a_killed_zygote_means_a_cold_start_and_its_worker_lives_on(world, zygote):
    first, second = world.task(slow()), world.task(EASY)
    start(world, first, zygote)
    os.kill(zygote.pid, signal.SIGKILL)
    born = start(world, second, zygote)
    assert born is not None and born.child is not None
    assert [exit_of(world, name)["status"] for name in (first, second)] == ["done", "done"]


def test_a_zygote_that_is_killed_over_an_order_leaves_one_worker(world, zygote, monkeypatch):
    """It dies when the order stands in its socket: nobody can say whether it forked, the lock can."""
    task_id = world.task(EASY)
    os.kill(zygote.pid, signal.SIGSTOP)
    monkeypatch.setattr(zygotes, "_PATIENCE", 0.2)
    born = start(world, task_id, zygote)
    assert born is not None and born.child is not None
    assert zygote.pid == 0
    assert exit_of(world, task_id)["status"] == "done"
    events = [json.loads(line) for line in (world.layout.task(task_id) / "events.jsonl").read_bytes().splitlines()]
    assert [event["kind"] for event in events].count("started") == 1


def test_a_worker_that_was_born_before_the_zygote_died_is_not_started_again(world, zygote, monkeypatch):
    task_id = world.task(slow())

    def forked_but_lost(self) -> None:
        self._channel.recv(65536)  # the answer, thrown away
        raise OSError("the answer was lost")

    monkeypatch.setattr(ZygoteClient, "_answer", forked_but_lost)
    born = start(world, task_id, zygote)
    assert born is not None and (born.pid, born.child) == (0, None)
    assert locks.is_locked(world.layout.task(task_id) / "run.lock")
    assert exit_of(world, task_id)["status"] == "done"


def test_changed_code_and_another_kind_of_provider_retire_it(world, zygote, monkeypatch):
    assert not zygote.usable("anthropic")
    assert zygote.pid == 0
    zygote.launch("offline", workers.worker_env(()), 60.0)
    until(lambda: zygote.usable("offline"))
    monkeypatch.setattr(zygotes, "code_stamp", lambda: 1)
    assert not zygote.usable("offline")
    assert start(world, world.task(EASY), zygote).child is not None


def test_it_ends_when_nobody_asks_for_long(world):
    found = ZygoteClient(world.layout.engine_log)
    found.launch("offline", workers.worker_env(()), 0.3)
    child = found._child
    assert child is not None and child.wait(15) == 0
    assert not found.usable("offline") and found.pid == 0


def test_it_ends_with_the_engine_and_its_workers_go_on(world, drive):
    first = drive()
    zygote = first.zygote()
    task_id = world.task(slow())
    until(lambda: locks.is_locked(world.layout.task(task_id) / "run.lock"))
    first.end()
    until(lambda: process.state_letter(zygote) in ("", "Z"), 3)
    drive()
    until(lambda: next(world.layout.archive.glob(f"*/*/{task_id}/exit.json"), None))
    events = next(world.layout.archive.glob(f"*/*/{task_id}/events.jsonl")).read_text()
    assert events.count('"started"') == 1


def test_the_engine_dispatches_warm_and_notices_the_end_by_itself(world, drive):
    drive().zygote()
    task_id = world.task(EASY)
    until(lambda: next(world.layout.archive.glob(f"*/*/{task_id}/result.md"), None), 5)
    assert "lumen" not in next(world.layout.archive.glob(f"*/*/{task_id}/worker.log")).read_text()


@pytest.mark.threat("S7", "keys of workers: environment, zygote, log, events, transcript, orders to hosts")
def test_no_key_stands_in_the_zygote(world, monkeypatch):
    secret = "sk-ant-" + "z" * 40
    monkeypatch.setenv("ANTHROPIC_API_KEY", secret)
    world.layout.config.write_text('[models]\nprovider = "offline"\n')
    found = ZygoteClient(world.layout.engine_log)
    found.launch("offline", workers.worker_env(()), 60.0)
    until(lambda: found.usable("offline"))
    task_id = world.task(EASY)
    env = workers.worker_env(("ANTHROPIC_API_KEY",))
    assert env["ANTHROPIC_API_KEY"] == secret
    workers.start(world.layout.task(task_id), env=env, kind="offline", epoch=1, now=world.clock.now(), zygote=found)
    assert exit_of(world, task_id)["status"] == "done"
    try:
        with open(f"/proc/{found.pid}/mem", "rb", buffering=0) as memory:
            assert secret.encode() not in written_memory(found.pid, memory)
    except PermissionError:
        pass  # not root: nobody can look, which is the point
    finally:
        found.kill()


def written_memory(pid: int, memory) -> bytes:
    """Everything that the process may write to."""
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        where, rights = line.split()[:2]
        if "w" in rights and not line.endswith("[vvar]"):
            low, high = (int(part, 16) for part in where.split("-"))
            memory.seek(low)
            try:
                found.append(memory.read(high - low))
            except OSError:
                continue
    return b"".join(found)
