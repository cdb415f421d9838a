"""What cannot be read or written holds up its own part, is told, and ends no engine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lumen_tui.engine import command_inbox
from lumen_tui.engine.events import EventLog
from lumen_tui.engine.runner import Runner, RunOptions
from lumen_tui.model import loop, times
from lumen_tui.model.snapshot import Need
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.files import StoreError


def told(world) -> list[str]:
    """What needs a person because of the engine."""
    found = SnapshotReader(world.root).snapshot(world.clock.now()).attention
    return [one.text for one in found if one.need is Need.ENGINE]


@pytest.mark.fault("R3", "an engine that cannot read or write goes on degraded and says so")
async def test_a_beat_that_fails_is_told_in_the_heartbeat_until_one_succeeds(world):
    engine = world.engine()
    elsewhere = world.root.parent / "elsewhere.jsonl"
    elsewhere.touch()
    world.layout.archival.symlink_to(elsewhere)
    runner = Runner(engine, RunOptions(signals=False))
    report = runner._beat("timer")
    engine.sleep(world.clock.now(), world.clock.now() + 60)
    beat = json.loads(world.layout.heartbeat.read_bytes())
    assert report.skipped.startswith("degraded: ") and "symbolic link" in report.skipped
    assert beat["phase"] == "degraded" and "archival.jsonl is a symbolic link" in beat["note"]

    world.layout.archival.unlink()
    assert not (runner._beat("timer")).skipped.startswith("degraded")
    engine.sleep(world.clock.now(), world.clock.now() + 60)
    assert json.loads(world.layout.heartbeat.read_bytes())["phase"] == "asleep"
    assert told(world) == []


@pytest.mark.fault("R3", "an engine that cannot read or write goes on degraded and says so")
async def test_a_degraded_engine_needs_a_person(world):
    engine = world.engine()
    engine.trouble = "memory/memory.jsonl cannot be read"
    engine.sleep(world.clock.now(), world.clock.now() + 60)
    assert told(world) == ["the engine cannot work: memory/memory.jsonl cannot be read"]


@pytest.mark.parametrize("name", ["exit.json", "run.json", "events.jsonl", "hold.json"])
async def test_an_odd_file_in_one_task_holds_up_no_other(world, name):
    odd, other = world.task(), world.task()
    (world.layout.task(odd) / name).symlink_to("/etc/passwd")
    world.do("task.cancel", task_id=other)
    engine = world.engine()
    engine.beat(world.clock.now())
    assert world.status(other) == "cancelled"
    SnapshotReader(world.root).snapshot(world.clock.now())


KEPT_OUT = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


def _can_be_kept_out() -> bool:
    try:
        return subprocess.run([*KEPT_OUT, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.fault("R3", "an engine that cannot read or write goes on degraded and says so")
@pytest.mark.skipif(not _can_be_kept_out(), reason="nothing keeps this user out of a file")
def test_a_closed_journal_degrades_the_engine_and_does_not_end_it(world):
    world.layout.memory.write_bytes(b"{}\n")
    world.layout.memory.chmod(0)
    words = ["-m", "lumen_tui", "--engine-only", "--once", "--state", str(world.root)]
    done = subprocess.run(
        [*KEPT_OUT, sys.executable, *words], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "degraded: " in done.stdout and "Permission denied" in done.stdout


def command(world, verb: str, **more: object) -> str:
    """A command that was given a second ago."""
    given = loop.Command(id=f"cmd-{verb}", at=times.iso(world.clock.now() - 1), by="ana", verb=verb, **more)
    world.store.commands.append(given)
    return given.id


def receipts(world) -> dict[str, bool]:
    return {one.command_id: one.ok for one in world.store.command_receipts.records(loop.CommandReceipt)}


def test_a_command_that_cannot_be_done_is_answered_so_and_holds_up_none_behind_it(world):
    engine = world.engine()
    (world.layout.pause / "x").mkdir(parents=True)
    refused, other = command(world, "pause"), command(world, "beat")
    assert engine.commands.carry_out(world.clock.now()).beat
    assert receipts(world) == {refused: False, other: True}


@pytest.mark.fault("R3", "an engine that cannot read or write goes on degraded and says so")
def test_no_command_is_lost_while_no_answer_can_be_written(world):
    engine = world.engine()
    commands = engine.commands
    world.layout.command_receipts.unlink(missing_ok=True)
    world.layout.command_receipts.mkdir()
    asked = command(world, "stop", reason="enough")
    for _ in range(2):
        with pytest.raises(StoreError):
            commands.carry_out(world.clock.now())
        assert commands.waiting
    world.layout.command_receipts.rmdir()
    assert commands.carry_out(world.clock.now()).stop == "enough"
    assert receipts(world) == {asked: True}
    assert commands.carry_out(world.clock.now()).stop == ""


def test_a_file_of_commands_that_is_written_anew_brings_none_about_again(world, monkeypatch):
    monkeypatch.setattr(command_inbox, "_REMEMBERED", 2)
    engine, journal = world.engine(), world.layout.commands
    for name in ("a", "b", "c", "d"):
        world.store.commands.append(
            loop.Command(id=f"cmd-{name}", at=times.iso(world.clock.now()), by="a", verb="beat")
        )
        assert engine.commands.carry_out(world.clock.now()).carried_out == 1
    for again in (False, True):
        copy = journal.with_suffix(".copy")
        copy.write_bytes(journal.read_bytes() * (1 + again))
        copy.replace(journal)
        assert engine.commands.waiting
        assert engine.commands.carry_out(world.clock.now()).carried_out == 0
    command(world, "beat")
    assert engine.commands.carry_out(world.clock.now()).carried_out == 1
    assert len(engine.commands._answered) == 2, "an engine runs for months, and holds no more than it needs"


def test_commands_that_wait_for_their_answers_are_carried_out_once_although_their_file_is_written_anew(world):
    commands, journal = world.engine().commands, world.layout.commands
    commands.carry_out(world.clock.now())
    world.layout.command_receipts.unlink(missing_ok=True)
    world.layout.command_receipts.mkdir()
    asked = command(world, "beat")
    with pytest.raises(StoreError):
        commands.carry_out(world.clock.now())
    world.layout.command_receipts.rmdir()
    copy = journal.with_suffix(".copy")
    copy.write_bytes(journal.read_bytes())
    copy.replace(journal)
    assert commands.carry_out(world.clock.now()).carried_out == 1
    assert receipts(world) == {asked: True}


def test_events_are_read_from_the_newest_on_and_across_the_rotated_file(world):
    log = EventLog(world.store)
    for number in range(1, 7):
        if number == 4:
            world.layout.events.rename(world.layout.earlier_events)
        log.add("note", str(number), world.clock.now())
    with world.layout.events.open("ab") as out:
        out.write(b"{broken\n")
    assert [event.text for event in log.since(0)] == list("123456")
    assert [event.text for event in log.since(1)] == list("23456")
    world.layout.earlier_events.unlink()
    world.layout.earlier_events.mkdir()  # what came before the newest is not looked at
    assert [event.text for event in log.since(4)] == ["5", "6"]
