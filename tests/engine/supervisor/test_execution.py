"""The border behind which workers run: which backend has a task, and that a task for elsewhere never runs here."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
from lumen_tree import long_walk
from lumen_until import until

from lumen_tui.engine.supervisor import workers
from lumen_tui.engine.supervisor.execution import (
    BackendPlacement,
    ExecutionBackend,
    HostBackend,
    LocalBackend,
    StartOrder,
)
from lumen_tui.model.hosting import HostEntry, HostWait
from lumen_tui.model.queueing import NOTHING_KNOWN, waits, why
from lumen_tui.storage import files
from lumen_tui.store.settings import hosts
from lumen_tui.store.tasks import task_files


def sent_to(world, task_id: str, host: str) -> Path:
    """Let a task that waits name a host."""
    folder = world.layout.task(task_id)
    spec = msgspec.structs.replace(task_files.read_spec(world.layout, task_id), host=host)
    files.replace(folder / "spec.json", msgspec.json.encode(spec))
    return folder


class ColdBackend(HostBackend):
    """Another place, on this machine: every worker starts cold, and the order is noted."""

    def __init__(self, world) -> None:
        super().__init__(world.layout, world.clock, world.engine().supervisor.dispatcher.local)
        self.orders: list[StartOrder] = []
        self.children: dict[str, workers.Started] = {}
        self.closed = False

    def place(self, view, alive) -> HostWait:
        return HostWait("attic")

    def start(self, order: StartOrder) -> workers.Started | None:
        self.orders.append(order)
        env = workers.worker_env(order.keys)
        started = workers.start(order.folder, env=env, kind="offline", epoch=order.epoch, now=order.now)
        if started is not None:
            self.children[order.task_id] = started
        return started

    def has_ended(self) -> bool:
        return any(one.child is not None and one.child.poll() is not None for one in self.children.values())

    def reap(self) -> dict[str, int]:
        codes = {
            name: code
            for name, one in self.children.items()
            if one.child is not None and (code := one.child.poll()) is not None
        }
        for name in codes:
            del self.children[name]
        return codes

    def keep_only(self, tasks: object) -> None:
        """Children are waited for."""

    def close(self) -> None:
        self.closed = True


def with_attic(world) -> ColdBackend:
    attic = ColdBackend(world)
    dispatcher = world.engine().supervisor.dispatcher
    dispatcher.placement = BackendPlacement(dispatcher.local, attic)
    return attic


async def test_a_task_for_a_host_that_is_not_there_waits_says_so_and_never_runs_here(world):
    elsewhere, here = world.task(), world.task()
    folder = sent_to(world, elsewhere, "attic")
    for _ in range(3):
        await world.beat()
    assert not (folder / "run.json").exists() and not (folder / "worker.log").exists()
    assert world.status(elsewhere) == "queued"
    until(lambda: world.status(here) == "done")
    view = world.room.task(elsewhere)
    assert "no such host" in [wait.short for wait in waits(view, NOTHING_KNOWN)]
    assert "host attic alone, and there is no such host" in why(view, NOTHING_KNOWN)


async def test_the_name_of_a_host_is_made_safe_before_it_is_shown(world):
    task_id = world.task()
    sent_to(world, task_id, "att\x1b[31mic\n" + "x" * 500)
    words = why(world.room.task(task_id), NOTHING_KNOWN)
    assert "\x1b" not in words and "\n" not in words and len(words) < 200


async def test_each_task_starts_on_the_backend_of_its_host(world):
    attic = with_attic(world)
    elsewhere, here = world.task(), world.task()
    sent_to(world, elsewhere, "attic")
    await world.beat()
    assert [order.task_id for order in attic.orders] == [elsewhere]
    until(lambda: world.status(elsewhere) == world.status(here) == "done")
    until(attic.has_ended)
    await world.beat()
    assert attic.children == {}


async def test_a_worker_of_another_backend_that_is_killed_is_lost_with_its_signal_and_goes_on_there(world):
    attic = with_attic(world)
    task_id = world.task(f"How big is {long_walk()}?")
    sent_to(world, task_id, "attic")
    await world.beat()
    os.kill(attic.children[task_id].pid, signal.SIGKILL)
    until(attic.has_ended)
    await world.beat()
    await world.beat()
    assert [order.task_id for order in attic.orders] == [task_id, task_id]
    lost = [event.text for event in world.instead() if event.kind == "lost"]
    assert len(lost) == 1 and "SIGKILL" in lost[0]


async def test_a_task_for_another_place_that_is_tried_again_stays_there(world):
    hosts.change(world.layout, "attic", lambda _: HostEntry("attic", "", "ann"))
    task_id = world.task()
    sent_to(world, task_id, "attic")
    world.engine().supervisor.dispatcher.give_up(
        world.room.task(task_id), "failed", "the test says so", world.clock.now()
    )
    again = world.do("task.retry", task_id=task_id).target
    spec = task_files.read_spec(world.layout, again)
    assert spec is not None and spec.host == "attic"


def test_leaving_lets_go_of_every_backend(world):
    attic = with_attic(world)
    backends: list[ExecutionBackend] = world.engine().supervisor.dispatcher.placement.all()
    assert isinstance(backends[0], LocalBackend) and backends[1:] == [attic]
    world.engine().close("done")
    assert attic.closed
