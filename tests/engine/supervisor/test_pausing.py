"""Pause and stop in scopes: this step, this task, now; one worker, the loop, a role, all; who, why, until when."""

from __future__ import annotations

import json

import pytest
from lumen_tree import endless, long_walk, shorten

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.events import recent_events
from lumen_tui.model.loop import Heartbeat, Pause
from lumen_tui.model.tasks import Status
from lumen_tui.storage import locks
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.task_records import read_json, tail_events


def slow() -> str:
    return f"How big is {long_walk()}?"


def folder(world, task_id: str):
    return world.layout.task(task_id)


def kinds(world) -> list[str]:
    return [event.kind for event in recent_events(world.store, 500)]


def receipts(world) -> list[str]:
    return [json.loads(line)["text"] for line in world.store.command_receipts.lines()]


def ended(world, task_id: str) -> bool:
    return (folder(world, task_id) / "exit.json").exists() and not locks.is_locked(folder(world, task_id) / "run.lock")


async def test_a_pause_says_who_why_and_until_when_and_ends_by_itself(world):
    world.do("engine.pause", reason="backup", seconds=7200)
    task_id = world.task()
    report = await world.beat()
    assert report.supervised.started == []
    assert "paused by ann until 2026-" in report.skipped and "backup" in report.skipped
    world.engine().sleep(world.clock.now(), world.clock.now() + 300)
    beat = read_json(world.layout.heartbeat, Heartbeat)
    assert beat is not None and beat.phase == "paused" and "backup" in beat.note
    world.clock.pass_time(7100)
    assert (await world.beat()).supervised.started == []
    world.clock.pass_time(200)
    assert (await world.beat()).supervised.started == [task_id]
    assert "resumed" in kinds(world)
    await world.until(lambda: ended(world, task_id))


async def test_a_kill_in_the_middle_of_a_beat_starts_nothing_in_the_rest_of_it(world, monkeypatch):
    engine, task_id = world.engine(), world.task()
    monkeypatch.setattr(engine.approvals, "poll", lambda now: world.layout.kill.write_text(""))
    assert (await world.beat()).supervised.started == []
    monkeypatch.undo()
    world.layout.kill.unlink()
    assert (await world.beat()).supervised.started == [task_id]
    await world.until(lambda: ended(world, task_id))


async def test_a_paused_loop_lets_tasks_go_on(world):
    await world.beat()
    world.do("engine.pause", target="loop")
    world.do("signal.send", message="hello")
    task_id = world.task()
    report = await world.beat()
    assert (report.supervised.started, report.loop) == ([task_id], 0)
    assert "the loop is paused by ann" in report.skipped
    await world.until(lambda: ended(world, task_id))
    world.do("engine.resume", target="loop")
    assert (await world.beat()).loop == 1


async def test_one_worker_rests_now_and_goes_on_where_it_was(world, tmp_path):
    many = endless(tmp_path / "many")
    task_id = world.task(f"Count the lines in {many}")
    await world.beat()
    await world.until(lambda: any(event.kind == "call" for event in tail_events(folder(world, task_id))))
    world.do("engine.pause", target=task_id, after="now", reason="look at this")
    await world.beat()
    assert receipts(world)[-1] == "its worker rests at once"
    seen = world.room.task(task_id)
    assert seen.status is Status.RUNNING
    assert "held" in seen.reason and "look at this" in seen.reason
    world.clock.pass_time(3600)
    await world.beat()
    assert world.room.task(task_id).status is Status.RUNNING  # rest is no silence, and costs no time limit
    assert not ended(world, task_id)
    shorten(many)
    world.do("engine.resume", target=task_id)
    await world.beat()
    await world.until(lambda: ended(world, task_id), 60)
    assert world.room.task(task_id).status is Status.DONE


async def test_a_worker_rests_before_its_next_step(world):
    task_id = world.task()
    pauses.hold(folder(world, task_id), Pause(at="2026-01-01T00:00:00Z", by="ann", after="step"))
    await world.beat()
    await world.until(lambda: len(tail_events(folder(world, task_id))) >= 2)
    for _ in range(3):
        await world.beat()
    calls = [event for event in tail_events(folder(world, task_id)) if event.kind == "call"]
    assert calls == []
    pauses.let_go(folder(world, task_id))
    await world.until(lambda: ended(world, task_id))
    assert world.room.task(task_id).status is Status.DONE


async def test_a_pause_of_all_can_hold_the_workers_and_resume_lets_them_go(world):
    task_id = world.task(slow())
    await world.beat()
    await world.until(lambda: locks.is_locked(folder(world, task_id) / "run.lock"))
    world.do("engine.pause", after="step")
    await world.beat()
    assert "1 workers rest after their step" in receipts(world)[-1]
    assert pauses.held(folder(world, task_id)) is not None
    world.do("engine.resume")
    await world.beat()
    assert pauses.held(folder(world, task_id)) is None
    await world.until(lambda: ended(world, task_id), 60)


async def test_a_cancel_after_the_step_lets_the_call_end(world):
    task_id = world.task()
    pauses.hold(folder(world, task_id), Pause(at="2026-01-01T00:00:00Z", by="ann", after="step"))
    await world.beat()
    await world.until(lambda: len(tail_events(folder(world, task_id))) >= 2)
    world.do("task.cancel", task_id=task_id, after="step", reason="enough")
    await world.beat()
    pauses.let_go(folder(world, task_id))
    await world.until(lambda: ended(world, task_id))
    assert "enough" in (folder(world, task_id) / "exit.json").read_text()
    assert world.room.task(task_id).status is Status.CANCELLED


async def test_a_resting_worker_hears_a_cancel(world):
    task_id = world.task(slow())
    pauses.hold(folder(world, task_id), Pause(at="2026-01-01T00:00:00Z", by="ann", after="step"))
    await world.beat()
    await world.until(lambda: len(tail_events(folder(world, task_id))) >= 2)
    world.do("task.cancel", task_id=task_id)
    await world.beat()
    await world.engine().supervisor.wait_for_endings()
    assert world.room.task(task_id).status is Status.CANCELLED


async def test_stop_after_the_tasks_waits_for_them_and_starts_nothing(world):
    running = world.task(slow())
    await world.beat()
    world.engine()
    waiting = world.task()
    engine_stop(world, "task")
    report = await world.beat()
    assert (report.requests.stop, report.supervised.started) == ("", [])
    await world.until(lambda: ended(world, running), 60)
    assert (await world.beat()).requests.stop == "the day is over"
    assert world.room.task(waiting).status is Status.QUEUED


async def test_stop_now_ends_the_workers_too(world):
    world.layout.config.write_text("[workers]\nask_seconds = 2\nterm_seconds = 1\n")
    running = world.task(slow())
    await world.beat()
    engine_stop(world, "now")
    assert (await world.beat()).requests.stop == "the day is over"
    await world.engine().supervisor.wait_for_endings()
    assert world.room.task(running).status is Status.CANCELLED
    assert "stopped with the engine by ann" in (folder(world, running) / "exit.json").read_text()


def engine_stop(world, after: str) -> None:
    world.do("engine.stop", after=after, reason="the day is over")


async def test_a_cancelled_task_is_put_back_by_undo(world):
    never, cut = world.task(depends_on=(world.task(slow()),)), world.task(slow())
    await world.beat()
    for task_id in (never, cut):
        world.do("task.cancel", task_id=task_id)
    await world.beat()
    await world.engine().supervisor.wait_for_endings()
    await world.beat()
    assert [world.status(name) for name in (never, cut)] == ["cancelled", "cancelled"]
    for _ in range(2):
        world.do("undo")
    assert [world.status(name) for name in (never, cut)] == ["queued", "queued"]
    assert (folder(world, cut) / "run.1.json").exists()
    assert cut in (await world.beat()).supervised.started
    await world.until(lambda: ended(world, cut), 60)
    report = await world.beat()
    assert cut in report.supervised.collected
    assert [event.data["status"] for event in recent_events(world.store, 99) if event.task_id == cut and
            event.kind == "task_ended"] == ["cancelled", "done"]  # fmt: skip


async def test_undo_of_a_cancel_that_no_engine_has_seen_yet(world):
    task_id = world.task()
    world.do("task.cancel", task_id=task_id)
    world.do("undo")
    assert (await world.beat()).supervised.started == [task_id]
    await world.until(lambda: ended(world, task_id))
    assert world.room.task(task_id).status is Status.DONE


@pytest.mark.parametrize(
    "arguments",
    [{"target": "nobody"}, {"target": "role:wizard"}, {"after": "never"}, {"seconds": -1.0}, {"seconds": 1e12}],
)
def test_senseless_scopes_are_refused_and_nothing_is_written(world, arguments):
    with pytest.raises(ActionError):
        world.do("engine.pause", **arguments)
    assert not world.layout.commands.exists()


async def test_a_worker_that_has_ended_cannot_be_paused(world):
    task_id = world.task()
    world.do("engine.pause", target=task_id)
    await world.beat()
    assert receipts(world)[-1] == f"no worker is at {task_id}"
    await world.until(lambda: ended(world, task_id))


async def test_a_bare_resume_lifts_the_pauses_of_the_loop_and_of_roles_too(world):
    for target in ("", "loop", "role:researcher"):
        world.do("engine.pause", target=target, reason="a drill")
    task_id = world.task()
    await world.beat()
    assert list(world.room.look().paused) == ["everything", "the loop", "role researcher"]
    assert "the loop, role researcher too" in world.do("engine.resume").summary
    assert (await world.beat()).supervised.started == [task_id]
    assert receipts(world)[-1] == "resumed, with loop, researcher"
    assert world.room.look().paused == {}
    await world.until(lambda: ended(world, task_id))


async def test_the_end_of_a_timed_pause_of_everything_leaves_the_others_in_force(world):
    world.do("engine.pause", seconds=60)
    world.do("engine.pause", target="role:researcher")
    await world.beat()
    world.clock.pass_time(120)
    await world.beat()
    assert list(world.room.look().paused) == ["role researcher"]


def test_what_is_not_paused_cannot_be_resumed(world):
    with pytest.raises(ActionError, match="the loop is not paused") as refused:
        world.do("engine.resume", target="loop")
    assert refused.value.missing
    world.do("engine.pause", target="loop")  # no engine has seen it yet
    world.do("engine.resume", target="loop")
