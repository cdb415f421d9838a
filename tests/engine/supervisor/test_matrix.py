"""What a room says when something is dead, stopped, hung or asleep, or the clock was moved: true, with its reason."""

from __future__ import annotations

import os
import signal
import sys

import msgspec
import pytest
from lumen_until import until

from lumen_tui.engine.events import recent_events
from lumen_tui.model.liveness import EngineLife
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.snapshot import Need
from lumen_tui.model.tasks import Status, TaskEvent
from lumen_tui.model.times import iso
from lumen_tui.storage import files, locks, process
from lumen_tui.store.tasks.task_records import read_json

DAY = 86400.0
MOVES = [-7200.0, 3 * DAY, -1_790_000_000.0 + 60, 2_500_000_000.0]  # 2 h back, 3 days on, to 1970, past 2106


def kinds(world) -> list[str]:
    return [event.kind for event in recent_events(world.store, 500)]


def says(world, task_id: str, kind: str, text: str = "", **data: object) -> None:
    """The worker's next event."""
    record = TaskEvent(at=iso(world.clock.now()), kind=kind, text=text, data=data)
    files.append(world.layout.task(task_id) / "events.jsonl", msgspec.json.encode(record) + b"\n")


async def rest(world) -> None:
    """A beat, and the engine goes to sleep."""
    await world.beat()
    world.open().sleep(world.clock.now(), world.clock.now() + 300)


# Workers


async def test_a_stopped_worker_is_shown_at_once_and_goes_on(world):
    task_id = world.task()
    child = world.hold(task_id)
    assert world.room.task(task_id).status is Status.RUNNING
    os.kill(child.pid, signal.SIGSTOP)
    until(lambda: process.state_letter(child.pid) == "T")
    seen = world.room.task(task_id)
    assert seen.status is Status.STALLED
    assert f"kill -CONT {child.pid}" in seen.reason
    assert any(item.need is Need.STALLED and "stopped" in item.text for item in world.room.look().attention)
    os.kill(child.pid, signal.SIGCONT)
    until(lambda: world.room.task(task_id).status is Status.RUNNING)


async def test_a_silent_worker_is_stalled_by_running_time_and_says_after_what(world):
    task_id = world.task()
    world.hold(task_id)
    says(world, task_id, "call", tool="shell")
    assert world.room.task(task_id).status is Status.RUNNING
    world.clock.pass_time(3600)
    seen = world.room.task(task_id)
    assert seen.status is Status.STALLED
    assert "no progress since" in seen.reason
    says(world, task_id, "result")
    assert world.room.task(task_id).status is Status.RUNNING


@pytest.mark.fault("R8", "a clock that jumps under an engine: no beat repeated, nothing archived")
@pytest.mark.parametrize("move", MOVES)
async def test_a_moved_clock_stalls_no_worker(world, move):
    task_id = world.task()
    world.hold(task_id)
    says(world, task_id, "call", tool="grep")
    assert world.room.task(task_id).status is Status.RUNNING
    world.clock.wall += move
    world.clock.ran += 1
    assert world.room.task(task_id).status is Status.RUNNING


async def test_a_worker_in_a_back_off_is_no_stalled_one(world):
    task_id = world.task()
    world.hold(task_id)
    until = world.clock.now() + 900
    says(world, task_id, "wait", "trying again in 15 m (1 of 4): 429", until=until)
    world.room.look()
    world.clock.pass_time(600)
    seen = world.room.task(task_id)
    assert seen.status is Status.RUNNING
    assert "429" in seen.reason and iso(until)[11:19] in seen.reason
    world.clock.pass_time(600)
    assert world.room.task(task_id).status is Status.STALLED


async def test_a_wait_beyond_reason_hides_nothing(world):
    task_id = world.task()
    world.hold(task_id)
    says(world, task_id, "wait", "for ever", until=world.clock.now() + 400 * DAY)
    world.room.look()
    world.clock.pass_time(3600)
    assert world.room.task(task_id).status is Status.STALLED


async def test_a_worker_that_asks_a_person_waits(world):
    task_id = world.task()
    world.hold(task_id)
    says(world, task_id, "waiting", "waits for a person: rm -r build")
    world.clock.pass_time(3600)
    seen = world.room.task(task_id)
    assert (seen.status, seen.reason) == (Status.WAITING, "waits for a person: rm -r build")


async def test_a_killed_worker_is_lost_at_once_and_the_reason_names_the_signal(world):
    task_id = world.task("Change something", role="builder")
    folder = world.layout.task(task_id)
    child = world.hold(task_id)
    await world.beat()
    world.open().supervisor.dispatcher.local._children[task_id] = child
    child.kill()
    until(lambda: world.room.task(task_id).status is Status.LOST)
    until(lambda: child.poll() is not None)
    child.returncode, code = None, child.returncode
    child.poll = lambda: code  # the engine's own look
    await world.beat()
    assert "SIGKILL" in (folder / "exit.json").read_text()
    assert world.room.task(task_id).status is Status.LOST


async def test_a_lock_that_a_grandchild_inherited_is_seen_and_freed_within_two_beats(world):
    task_id = world.task("Change something", role="builder")
    child = world.hold(task_id, inherit=True)
    child.kill()
    child.wait()
    lock = world.layout.task(task_id) / "run.lock"
    assert locks.is_locked(lock)
    seen = world.room.task(task_id)
    assert seen.status is Status.STALLED and "still holds its lock" in seen.reason
    await world.beat()
    until(lambda: not locks.is_locked(lock))
    await world.beat()
    assert world.room.task(task_id).status is Status.LOST
    assert "leftover" in kinds(world)


async def test_whoever_looks_at_a_lock_is_not_ended_with_its_holder(world):
    task_id = world.task()
    lock = world.layout.task(task_id) / "run.lock"
    holder = world.hold(task_id)
    code = "import os, sys, time; os.open(sys.argv[1], 0); print(1, flush=True); time.sleep(60)"
    world.run(sys.executable, "-c", code, str(lock))
    assert process.lock_holders(str(lock)) == [holder.pid]


@pytest.mark.fault("R10", "an engine killed while workers run; numbers of processes used again")
@pytest.mark.threat("S15", "an engine that is not the one; processes with a number used again")
async def test_a_reused_pid_is_neither_taken_for_the_worker_nor_killed(world):
    task_id = world.task("Change something", role="builder")
    bystander = world.run("sh", "-c", "echo 1; exec sleep 60")
    world.name(task_id, bystander.pid)
    run = msgspec.json.decode((world.layout.task(task_id) / "run.json").read_bytes())
    run["start_ticks"] += 1
    files.replace(world.layout.task(task_id) / "run.json", msgspec.json.encode(run))
    assert world.room.task(task_id).status is Status.LOST
    world.do("task.cancel", task_id=task_id)
    await world.beat()
    await world.open().supervisor.wait_for_endings()
    assert bystander.poll() is None


@pytest.mark.fault("R10", "an engine killed while workers run; numbers of processes used again")
@pytest.mark.threat("S15", "an engine that is not the one; processes with a number used again")
async def test_a_cancel_reaches_a_worker_whose_run_json_names_another_process(world):
    world.layout.config.write_text("[workers]\nask_seconds = 0.1\nterm_seconds = 0.1\n")
    task_id = world.task("Hang", role="builder")
    child = world.hold(task_id)
    bystander = world.run("sh", "-c", "echo 1; exec sleep 60")
    world.name(task_id, bystander.pid)
    run = msgspec.json.decode((world.layout.task(task_id) / "run.json").read_bytes())
    files.replace(world.layout.task(task_id) / "run.json", msgspec.json.encode({**run, "start_ticks": 1}))
    await world.beat()
    engine = world.open()
    view = engine.supervisor.index.find(task_id)
    engine.supervisor.end(view, status="cancelled", reason="no more", now=world.clock.now())
    await engine.supervisor.wait_for_endings()
    assert child.wait(5) == -signal.SIGKILL
    assert bystander.poll() is None
    assert world.room.task(task_id).status is Status.CANCELLED


@pytest.mark.fault("R8", "a clock that jumps under an engine: no beat repeated, nothing archived")
async def test_the_time_limit_counts_neither_a_moved_clock_nor_the_machines_sleep(world):
    world.layout.config.write_text("[workers]\nask_seconds = 0.1\nterm_seconds = 0.1\n")
    task_id = world.task("Hang", role="builder", timeout_seconds=100)
    world.hold(task_id)
    await world.beat()
    world.clock.wall += 3 * DAY
    world.clock.sleep(7200)
    await world.beat()
    assert not world.open().supervisor._ending
    world.clock.pass_time(120)
    await world.beat()
    await world.open().supervisor.wait_for_endings()
    assert "timed out" in (world.layout.task(task_id) / "exit.json").read_text()


async def test_a_role_whose_workers_keep_dying_stops_until_a_person_resumes_it(world):
    world.layout.config.write_text("[workers]\nretries = 10\ndeaths = 3\ndeaths_minutes = 10\n")
    task_id = world.task()
    for attempt in range(1, 4):
        child = world.hold(task_id, attempt=attempt)
        world.engine().commands  # noqa: B018 - it is open
        world.engine().supervisor.dispatcher.paused_roles = {"researcher"}
        child.kill()
        child.wait()
        world.engine().supervisor.config = world.engine().config
        world.engine().supervisor.poll(world.clock.now(), may_start=False)
        world.clock.pass_time(60)
    assert kinds(world).count("role_stopped") == 1
    assert (await world.beat()).supervised.started == []
    needs = [item.text for item in world.room.look().attention]
    assert any("role researcher" in text and "died" in text for text in needs)
    world.do("engine.resume", target="role:researcher")
    assert (await world.beat()).supervised.started == [task_id]
    assert not [item for item in world.room.look().attention if "researcher" in item.text and "died" in item.text]


async def test_deaths_far_apart_stop_nothing(world):
    world.layout.config.write_text("[workers]\nretries = 10\ndeaths = 3\ndeaths_minutes = 10\n")
    task_id = world.task()
    for attempt in range(1, 6):
        child = world.hold(task_id, attempt=attempt)
        child.kill()
        child.wait()
        world.engine().supervisor.config = world.engine().config
        world.engine().supervisor.poll(world.clock.now(), may_start=False)
        world.clock.pass_time(400)
    assert "role_stopped" not in kinds(world)


# The engine


async def test_a_killed_engine_is_gone_at_the_next_look(world):
    await rest(world)
    assert world.room.look().engine.life is EngineLife.ALIVE
    world.crash()
    engine = world.room.look().engine
    assert engine.life is EngineLife.NONE and "crashed" in engine.why


async def test_a_hung_engine_is_named_with_its_phase(world):
    await world.beat()
    world.clock.pass_time(90)
    engine = world.room.look().engine
    assert engine.life is EngineLife.HUNG and "in phase beating for 1 m 30 s" in engine.why


async def test_an_engine_that_misses_its_beat_is_late(world):
    await rest(world)
    world.clock.pass_time(299)
    assert world.room.look().engine.life is EngineLife.ALIVE
    world.clock.pass_time(60)
    engine = world.room.look().engine
    assert engine.life is EngineLife.LATE and "overdue by 59 s" in engine.why


async def test_a_machine_that_slept_is_told_apart_from_a_late_engine(world):
    await rest(world)
    world.clock.sleep(8 * 3600)
    engine = world.room.look().engine
    assert engine.life is EngineLife.ALIVE and "slept for 8 h" in engine.why
    world.clock.pass_time(400)
    assert world.room.look().engine.life is EngineLife.LATE


@pytest.mark.fault("R8", "a clock that jumps under an engine: no beat repeated, nothing archived")
@pytest.mark.parametrize("move", MOVES)
async def test_a_moved_clock_makes_no_engine_late_and_is_an_event(world, move):
    await rest(world)
    world.clock.wall += move
    world.clock.ran += 5
    assert world.room.look().engine.life is EngineLife.ALIVE
    assert world.open().notice_jump(world.clock.now())
    assert kinds(world).count("clock_jump") == 1
    await rest(world)
    assert world.room.look().engine.life is EngineLife.ALIVE
    beat = read_json(world.layout.heartbeat, Heartbeat)
    assert beat is not None and beat.beat == 2


@pytest.mark.fault("R8", "a clock that jumps under an engine: no beat repeated, nothing archived")
async def test_nothing_decays_in_the_beat_right_after_a_jump(world):
    world.layout.config.write_text('[memory.enforcement]\nrequire_checkpoint_for_done = "off"\n')
    world.do("node.create", content="seen last year", type="note")
    for wu_id in ("WU-100", "WU-101"):
        world.do("wu.new", title="t", lane="Core", id=wu_id)
    await rest(world)
    world.clock.wall += 400 * DAY
    world.clock.ran += 5
    await rest(world)
    done = world.do("wu.done", wu_id="WU-100")
    assert "the clock was moved" in done.summary
    assert not world.room.look().decay.archived
    world.clock.pass_time(300)
    await rest(world)
    world.clock.pass_time(300)
    await rest(world)
    assert "the clock was moved" not in world.do("wu.done", wu_id="WU-101").summary


def test_a_stopped_engine_is_seen_at_once(world, drive):
    driver = drive()
    port = world.port()
    until(lambda: port.snapshot().engine.life is EngineLife.ALIVE and port.snapshot().engine.heartbeat)
    os.kill(driver.child.pid, signal.SIGSTOP)
    until(lambda: "SIGSTOP" in port.snapshot().engine.why, 3)
    assert port.snapshot().engine.life is EngineLife.HUNG
    assert any(item.need is Need.ENGINE for item in port.snapshot().attention)
