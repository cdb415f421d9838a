"""A failed task that was dealt with is archived, and on the list again whichever way that is taken back."""

from __future__ import annotations

import msgspec
import pytest

from lumen_tui.model.loop import Packet
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import directories

WAYS = {
    "put aside, and undone": ("attention.dismiss", "undo"),
    "put aside, and named again": ("attention.dismiss", "attention.back"),
    "tried again, and undone": ("task.retry", "undo"),
}


async def failed(world) -> str:
    task_id = world.task("nobody has a playbook for this")
    await world.beat()
    await world.until(lambda: (world.layout.task(task_id) / "exit.json").exists())
    await world.until(lambda: world.status(task_id) == "failed")
    await world.beat()
    return task_id


def needs(world) -> list[str]:
    return [need.target for need in SnapshotReader(world.root).snapshot(world.clock.now()).attention]


def deal(world, verb: str, task_id: str) -> None:
    world.do(verb, **({"task_id": task_id} if verb == "task.retry" else {"targets": [task_id]}))


async def archived(world, task_id: str) -> None:
    while world.layout.task(task_id).exists():
        await world.beat()


@pytest.mark.parametrize("way", WAYS)
async def test_what_was_dealt_with_needs_somebody_again_when_that_is_taken_back(world, way):
    verb, taken_back_by = WAYS[way]
    task_id = await failed(world)
    if verb == "task.retry":
        world.do("engine.pause", reason="so that the new task waits")
    deal(world, verb, task_id)
    await archived(world, task_id)
    assert task_id not in needs(world)
    world.do(taken_back_by, **({} if taken_back_by == "undo" else {"targets": [task_id]}))
    assert task_id in needs(world)
    await world.beat()
    assert task_id in needs(world)


async def test_done_again_it_is_archived_again(world):
    task_id = await failed(world)
    deal(world, "attention.dismiss", task_id)
    await archived(world, task_id)
    world.do("undo")
    world.do("redo")
    await archived(world, task_id)
    assert task_id not in needs(world)
    assert world.status(task_id) == "failed"


async def test_an_undo_at_the_very_moment_of_archiving_wins(world, monkeypatch):
    task_id = await failed(world)
    deal(world, "attention.dismiss", task_id)
    move = directories.move

    def undone_meanwhile(source, target):
        monkeypatch.setattr(directories, "move", move)
        world.do("undo")
        move(source, target)

    monkeypatch.setattr(directories, "move", undone_meanwhile)
    await world.beat()
    assert directories.move is move
    assert task_id in needs(world)


@pytest.mark.parametrize(("cancelled", "health"), [(True, "ok"), (False, "degraded")])
async def test_a_cancel_is_what_somebody_wanted_and_no_bad_end(world, cancelled, health):
    task_id = world.task("nobody has a playbook for this")
    if cancelled:
        world.do("task.cancel", task_id=task_id)
        await world.beat()
    else:
        await world.beat()
        await world.until(lambda: (world.layout.task(task_id) / "exit.json").exists())
    while not (packets := [msgspec.json.decode(line, type=Packet) for line in world.store.packets.lines()]):
        world.clock.pass_time(300)
        await world.beat()
    [packet] = packets
    assert packet.health.status == health
    assert packet.changed["tasks_failed"] == (0 if cancelled else 1)
    assert bool(packet.next) is not cancelled
    assert len(packet.abandoned) == 1
