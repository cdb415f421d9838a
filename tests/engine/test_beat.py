"""One beat at a time, with real workers and a clock that only the test moves."""

from __future__ import annotations

import json
import os
import signal

import msgspec
import pytest
from lumen_tree import endless

from lumen_tui.engine.engine import Engine, EngineBusy, StateGone
from lumen_tui.engine.events import recent_events
from lumen_tui.model.loop import Heartbeat, LoopState, Packet
from lumen_tui.model.tasks import Run
from lumen_tui.model.times import iso
from lumen_tui.storage import chain_check, files, locks
from lumen_tui.store.tasks.task_records import note_unrepeatable_call, read_json


def kinds(world) -> list[str]:
    return [event.kind for event in recent_events(world.store, 500)]


def packets(world) -> list[Packet]:
    return [msgspec.json.decode(line, type=Packet) for line in world.store.packets.lines()]


async def finish(world, task_id: str) -> None:
    folder = world.layout.task(task_id)
    await world.until(lambda: (folder / "exit.json").exists() and not locks.is_locked(folder / "run.lock"))


async def test_a_task_is_started_finished_collected_once_and_archived(world):
    task_id = world.task()
    assert world.status(task_id) == "queued"
    first = await world.beat()
    assert first.supervised.started == [task_id]
    await finish(world, task_id)
    world.clock.pass_time(300)
    second = await world.beat()
    assert second.supervised.collected == [task_id]
    assert second.loop == 1
    world.clock.pass_time(300)
    third = await world.beat()
    assert third.supervised.collected == []
    assert kinds(world).count("task_ended") == 1
    assert world.status(task_id) == "done"
    assert not world.layout.task(task_id).exists()
    archived = next(world.layout.archive.glob(f"*/*/{task_id}/result.md")).read_text()
    assert "/etc" in archived


async def test_an_idle_beat_runs_no_loop_and_writes_nothing_but_the_heartbeat(world):
    await world.beat()
    before = {path: path.stat().st_mtime_ns for path in world.root.rglob("*") if path.is_file()}
    world.clock.pass_time(300)
    report = await world.beat()
    assert report.idle
    assert report.skipped == "nothing new"
    after = {path: path.stat().st_mtime_ns for path in world.root.rglob("*") if path.is_file()}
    changed = {path.name for path in after if after[path] != before.get(path)}
    assert changed == {"heartbeat.json"}


async def test_the_narrative_says_that_no_model_wrote_it_and_names_what_happened(world):
    task_id = world.task()
    world.do("signal.send", message="The port moved to 8443", wu_id="WU-100")
    await world.beat()
    await finish(world, task_id)
    await world.beat()
    wake = world.layout.wake_state.read_text()
    assert "Written without a model" in wake
    assert "The port moved to 8443" in wake or any(
        "8443" in words for packet in packets(world) for words in packet.came_in
    )
    state = read_json(world.layout.loop_state, LoopState)
    assert state is not None and state.last_artifact.path.endswith(f"{task_id}/result.md")


async def test_a_signal_is_read_by_the_loop_once_and_a_receipt_proves_it(world):
    await world.beat()
    world.do("signal.send", message="hello")
    report = await world.beat()
    assert report.loop == 1
    assert (await world.beat()).loop == 0
    receipt = msgspec.json.decode(list(world.store.receipts.lines())[-1])
    assert receipt["reader"] == "lumen" and receipt["upto"] is True


async def test_an_engine_for_one_task_gives_the_main_agent_no_turn(world):
    engine = Engine.open(world.root, world.clock, loops=False)
    world.do("signal.send", message="the port moved")
    report = engine.beat(world.clock.now())
    assert (report.loop, report.skipped) == (0, "this engine drives tasks alone")
    assert not world.layout.packets.exists()
    engine.close("done")
    assert (await world.beat()).loop == 1


@pytest.mark.fault("R9", "a second engine on one folder, a killed one, a frozen one")
@pytest.mark.threat("S15", "an engine that is not the one; processes with a number used again")
async def test_a_second_engine_is_refused(world):
    world.engine()
    with pytest.raises(EngineBusy):
        Engine.open(world.root, world.clock)


@pytest.mark.fault("R9", "a second engine on one folder, a killed one, a frozen one")
@pytest.mark.threat("S15", "an engine that is not the one; processes with a number used again")
async def test_each_takeover_has_a_higher_epoch_and_beats_go_on_counting(world):
    await world.beat()
    first = read_json(world.layout.heartbeat, Heartbeat)
    world.crash()
    await world.beat()
    second = read_json(world.layout.heartbeat, Heartbeat)
    assert (second.epoch, second.beat) == (first.epoch + 1, first.beat + 1)


@pytest.mark.fault("R10", "an engine killed while workers run; numbers of processes used again")
async def test_a_running_worker_is_adopted_after_a_crash_and_collected_once(world, tmp_path):
    slow = world.task("Run a slow thing", role="builder")
    folder = world.layout.task(slow)
    sleeper = hold_as_worker(folder, world.clock.now())
    try:
        await world.beat()
        world.crash()
        report = await world.beat()
        assert report.supervised.started == []
        assert "adopted" in kinds(world)
        assert world.status(slow) in ("running", "stalled")
    finally:
        sleeper.kill()
        sleeper.wait()


def hold_as_worker(folder, now: float):
    """A real process that holds the worker's lock and says nothing."""
    import subprocess
    import sys

    from lumen_tui.storage import process

    code = "import fcntl,os,sys,time; fd=os.open(sys.argv[1],os.O_RDWR|os.O_CREAT,0o600); "
    code += "fcntl.flock(fd,2); print(1,flush=True); time.sleep(60)"
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(folder / "run.lock")], stdout=subprocess.PIPE, start_new_session=True
    )
    assert child.stdout is not None
    child.stdout.readline()
    me = process.identify(child.pid)
    run = Run(attempt=1, started_at=iso(now), pid=me.pid, start_ticks=me.start_ticks, boot_id=me.boot_id)
    files.replace(folder / "run.json", msgspec.json.encode(run))
    return child


@pytest.mark.fault("R10", "an engine killed while workers run; numbers of processes used again")
async def test_a_lost_worker_is_tried_again_where_it_only_reads_and_then_given_up(world):
    task_id = world.task()
    folder = world.layout.task(task_id)
    files.replace(folder / "run.json", msgspec.json.encode(Run(attempt=1, started_at=iso(world.clock.now()))))
    world.engine().config.workers  # noqa: B018 - opened before the look
    report = await world.beat()
    assert report.supervised.lost == [task_id]
    assert (folder / "run.1.json").exists()
    await world.until(lambda: (folder / "exit.json").exists() or world.status(task_id) in ("done", "queued", "running"))
    report = await world.beat()
    assert world.status(task_id) in ("running", "done")


@pytest.mark.fault("R10", "an engine killed while workers run; numbers of processes used again")
async def test_a_lost_builder_is_never_run_twice(world):
    task_id = world.task("Change something", role="builder")
    folder = world.layout.task(task_id)
    files.replace(folder / "run.json", msgspec.json.encode(Run(attempt=1, started_at=iso(world.clock.now()))))
    await world.beat()
    assert world.status(task_id) == "lost"
    await world.beat()
    assert world.status(task_id) == "lost"
    assert not (folder / "run.1.json").exists()
    assert "not begun again by itself" in json.loads((folder / "exit.json").read_bytes())["reason"]


async def test_a_lost_reader_whose_command_ran_without_a_sandbox_is_not_run_twice(world):
    task_id = world.task()
    folder = world.layout.task(task_id)
    run = Run(attempt=1, started_at=iso(world.clock.now()), notes_begun=True)
    files.replace(folder / "run.json", msgspec.json.encode(run))
    note_unrepeatable_call(folder, 1, "shell", world.clock.now())
    await world.beat()
    assert world.status(task_id) == "lost"
    assert "not begun again by itself" in json.loads((folder / "exit.json").read_bytes())["reason"]


async def test_cancel_of_a_queued_task(world):
    task_id = world.task(depends_on=(world.task(),))
    world.do("task.cancel", task_id=task_id, reason="not needed")
    await world.beat()
    assert world.status(task_id) == "cancelled"


async def test_a_lane_has_no_more_tasks_at_work_than_its_limit_and_those_of_one_work_unit_count_once(world):
    world.do("wu.new", title="t", lane="Core", id="WU-001")
    first = world.task(wu_id="WU-001")
    holder = hold_as_worker(world.layout.task(first), world.clock.now())
    same, other = world.task(wu_id="WU-001"), world.task(lane="core")
    elsewhere = world.task(lane="UI")
    await world.beat()
    assert world.status(first) == "running"
    assert [world.status(one) for one in (other,)] == ["queued"], "the lane has one place"
    assert world.status(same) != "queued", "the work unit has that place"
    assert world.status(elsewhere) != "queued"
    holder.kill()
    holder.wait()
    for task in (same, elsewhere):
        await finish(world, task)
    world.do("task.cancel", task_id=first)
    await world.beat()
    await world.beat()
    assert world.status(other) != "queued", "there is a place again"


async def test_a_worker_that_ignores_everything_is_killed_in_the_end(world):
    task_id = world.task("Hang", role="builder")
    folder = world.layout.task(task_id)
    (world.layout.config).write_text("[workers]\nask_seconds = 0.1\nterm_seconds = 0.1\n")
    child = hold_as_worker(folder, world.clock.now())
    os.kill(child.pid, signal.SIGSTOP)
    await world.beat()
    world.do("task.cancel", task_id=task_id)
    await world.beat()
    await world.engine().supervisor.wait_for_endings()
    assert child.wait(5) == -signal.SIGKILL
    assert world.status(task_id) == "cancelled"


async def test_a_task_whose_dependency_failed_fails_and_says_so(world):
    bad = world.task("Hum a tune that nobody knows")
    after = world.task(depends_on=(bad,))
    await world.beat()
    await finish(world, bad)
    await world.beat()
    assert world.status(bad) == "failed"
    assert world.status(after) == "failed"
    assert bad in (world.layout.task(after) / "exit.json").read_text()


async def test_a_role_that_is_not_in_force_fails_the_task_with_a_reason(world):
    task_id = world.task()
    spec = world.layout.task(task_id) / "spec.json"
    spec.write_text(spec.read_text().replace("researcher", "wizard"))
    await world.beat()
    await world.beat()
    assert "wizard" in (world.layout.task(task_id) / "exit.json").read_text()


async def test_pause_starts_nothing_and_survives_a_restart(world):
    await world.beat()
    world.do("engine.pause", reason="maintenance")
    task_id = world.task()
    report = await world.beat()
    assert report.supervised.started == [] and "paused" in report.skipped
    world.crash()
    assert (await world.beat()).supervised.started == []
    world.do("engine.resume")
    assert (await world.beat()).supervised.started == [task_id]
    await finish(world, task_id)


async def test_commands_are_carried_out_once_across_restarts(world):
    world.do("engine.pause", reason="one")
    await world.beat()
    world.do("engine.resume")
    await world.beat()
    world.crash()
    await world.beat()
    assert world.engine().pauses.paused() is None
    assert len(list(world.store.command_receipts.lines())) == 2


async def test_a_loop_cut_off_after_its_packet_is_completed_and_never_repeated(world):
    await world.beat()
    world.do("signal.send", message="one")
    await world.beat()
    world.layout.loop_state.unlink()
    world.layout.wake_state.unlink()
    world.crash()
    report = await world.beat()
    assert report.loop == 0
    state = read_json(world.layout.loop_state, LoopState)
    assert state is not None and state.loop == 1
    assert [packet.loop for packet in packets(world)] == [1]
    assert world.layout.wake_state.exists()


@pytest.mark.fault("R8", "a clock that jumps under an engine: no beat repeated, nothing archived")
async def test_missed_beats_are_recorded_and_not_replayed(world):
    await world.beat()
    world.engine().sleep(world.clock.now(), world.clock.now() + 300)
    world.crash()
    world.clock.pass_time(3000)
    await world.beat()
    missed = [event for event in recent_events(world.store, 50) if event.kind == "beats_missed"]
    assert [event.data["missed"] for event in missed] == [9]


@pytest.mark.fault("R8", "a clock that jumps under an engine: no beat repeated, nothing archived")
async def test_a_jump_of_the_clock_is_an_event(world):
    await world.beat()
    world.clock.wall += 7200
    world.clock.ran += 1
    await world.beat()
    assert "clock_jump" in kinds(world)


@pytest.mark.fault("R11", "the state folder removed, replaced or read-only under way")
async def test_a_replaced_state_folder_stops_the_engine_before_it_writes(world):
    await world.beat()
    world.root.rename(world.root.with_name("moved"))
    world.root.mkdir(mode=0o700)
    with pytest.raises(StateGone):
        world.engine().poll(world.engine().clock.now())
    assert list(world.root.iterdir()) == []


async def test_a_damaged_line_goes_to_quarantine_once_and_hides_nothing_else(world):
    world.do("signal.send", message="before")
    world.layout.signals.write_bytes(world.layout.signals.read_bytes() + b'{"id": "sig-broken\n')
    world.do("signal.send", message="after")
    await world.beat()
    await world.beat()
    assert len(list(world.layout.quarantine.read_bytes().splitlines())) == 1
    assert any("after" in words for packet in packets(world) for words in packet.came_in)


async def test_a_broken_configuration_falls_back_setting_by_setting(world):
    world.layout.config.write_text('[workers]\nlimit = "three"\n[heartbeat]\nevery_minutes = 7\n')
    await world.beat()
    config = world.engine().config
    assert (config.workers.limit, config.heartbeat.every_minutes) == (3, 7)


async def test_a_kill_between_the_event_and_the_mark_tells_the_end_once(world):
    task_id = world.task("Hum a tune that nobody knows")
    await world.beat()
    await finish(world, task_id)
    await world.beat()
    (world.layout.task(task_id) / "collected.json").unlink()
    world.crash()
    await world.beat()
    assert kinds(world).count("task_ended") == 1


async def test_a_task_of_a_fired_role_waits_until_the_role_is_hired_again(world):
    world.do("role.fire", name="researcher", reason="on leave")
    task_id = world.task(role="analyst")
    spec = world.layout.task(task_id) / "spec.json"
    spec.write_text(spec.read_text().replace("analyst", "researcher"))
    assert (await world.beat()).supervised.started == []
    assert world.status(task_id) == "queued"
    world.do("role.rehire", name="researcher")
    assert (await world.beat()).supervised.started == [task_id]
    await finish(world, task_id)


async def test_what_a_killed_writer_left_is_swept_at_the_next_start_and_nothing_else(world):
    import os

    left, young = world.root / "memory" / ".signals.jsonl.ab12.tmp", world.root / ".heartbeat.json.cd34.tmp"
    for path in (left, young, world.root / "notes.tmp"):
        path.write_text("x")
    os.utime(left, (world.clock.now() - 7200,) * 2)
    os.utime(young, (world.clock.now(),) * 2)
    world.engine()
    assert not left.exists()
    assert young.exists() and (world.root / "notes.tmp").exists()


async def test_a_cancel_that_comes_right_behind_the_start_ends_the_worker(world, tmp_path):
    task_id = world.task(f"Count the lines in {endless(tmp_path / 'many')}")
    await world.beat()
    world.do("task.cancel", task_id=task_id)
    await world.beat()
    await world.engine().supervisor.wait_for_endings()
    assert not locks.is_locked(world.layout.task(task_id) / "run.lock")
    await world.beat()
    assert world.status(task_id) == "cancelled"


@pytest.mark.threat("S13", "a journal changed under an engine that beats")
async def test_what_a_beat_leaves_is_sealed_and_a_change_of_it_is_told_once(world):
    engine = world.engine()
    world.do("signal.send", message="first")
    engine.beat(world.clock.now())
    assert chain_check.look_through(world.root).faults == ()
    before = world.layout.seals.read_bytes()
    engine.beat(world.clock.now())
    engine.beat(world.clock.now())
    assert world.layout.seals.read_bytes().startswith(before)
    forged = world.layout.signals.read_bytes().replace(b"first", b"other")
    world.layout.signals.unlink()
    world.layout.signals.write_bytes(forged)
    for _ in range(3):
        engine.beat(world.clock.now())
    told = [event for event in recent_events(world.store, 50) if event.kind == "changed"]
    assert [event.text.startswith("memory/signals.jsonl: bytes 0 to ") for event in told] == [True]
    engine.close("done")
    assert len(chain_check.look_through(world.root).unsound) == 1


@pytest.mark.threat("S13", "the chain taken away, cut off with its journals, or another in its place")
@pytest.mark.parametrize("left", ["heartbeat.json", "events.jsonl"])
@pytest.mark.parametrize("ended", ["stopped", "killed", "running"])
async def test_a_chain_that_is_gone_is_told_once_by_the_engine_and_until_it_is_accepted_by_the_doctor(
    world, ended, left
):
    """With the note of the last beat, or that of the last start alone."""
    for number in range(3):
        world.do("signal.send", message=f"message {number}")
        await world.beat()
        world.engine().close("done")
        world.crash()
    world.engine().beat(world.clock.now())
    if ended == "stopped":
        world.engine().close("done")
    if ended != "running":
        world.crash()
    world.layout.seals.unlink()
    (world.layout.heartbeat if left == "events.jsonl" else world.layout.events).unlink()
    assert [fault.journal for fault in chain_check.look_through(world.root).faults] == ["seals.jsonl"]
    for _ in range(3):
        await world.beat()
        world.engine().sleep(world.clock.now(), world.clock.now() + 300)
    told = [event.text for event in recent_events(world.store, 50) if event.kind == "changed"]
    assert [text.startswith("seals.jsonl: seal ") for text in told] == [True]
    assert [seal.journal for seal in chain_check.look_through(world.root).unsound] == ["seals.jsonl"]
    chain_check.accept(world.root, iso(world.clock.now()), "by ana")
    report = chain_check.look_through(world.root)
    assert (report.faults, report.unsound) == ((), ())
