"""Beats that did not come, or did not do their work, stand in events.jsonl with the reason, once for each change."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lumen_until import until, until_async

from lumen_tui.engine.events import IDLE, SLEPT, STOOD_STILL, BeatLog, recent_events
from lumen_tui.engine.runner import Runner, RunOptions
from lumen_tui.model.loop import Pause
from lumen_tui.model.times import iso
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks import pauses

REPO = Path(__file__).resolve().parents[2]


def told(store: Store, kind: str) -> list[str]:
    return [event.text for event in recent_events(store, 200) if event.kind == kind]


def is_asleep(root: Path) -> bool:
    heartbeat = root / "heartbeat.json"
    return heartbeat.exists() and b'"asleep"' in heartbeat.read_bytes()


async def beats_once_after(world, act) -> None:
    """A runner whose time is moved by `act` while it waits for its second beat; that one ends it."""
    runner = Runner(world.engine(), RunOptions(beats=2, signals=False))
    running = asyncio.create_task(runner.run())
    await until_async(lambda: is_asleep(world.root))
    act()
    await running


@pytest.mark.parametrize("how", ["stopped", "asleep"])
async def test_beats_that_were_missed_under_an_engine_are_told_once_with_what_held_it_up(world, how):
    move = world.clock.pass_time if how == "stopped" else world.clock.sleep
    await beats_once_after(world, lambda: move(2000))
    why = STOOD_STILL if how == "stopped" else SLEPT
    events = [event for event in recent_events(world.store, 200) if event.kind == "beats_missed"]
    assert [event.data["reason"] for event in events] == [why]
    assert 4 <= events[0].data["missed"] <= 6 and events[0].text.endswith(f"missed while {why}")
    beat = json.loads(world.layout.heartbeat.read_bytes())["beat"]
    assert beat == 2, "none is made up for"


async def test_a_beat_that_is_late_by_less_than_an_interval_is_none_that_was_missed(world):
    await beats_once_after(world, lambda: world.clock.pass_time(400))
    assert told(world.store, "beats_missed") == []


async def test_a_reason_to_skip_is_told_when_it_changes_and_not_again(world):
    pauses.pause_all(world.layout, Pause(iso(world.clock.now()), by="ann", reason="a drill"))
    for _ in range(4):
        await world.beat()
    assert [text.partition(":")[0] for text in told(world.store, "beat_skipped")] == ["no loop"]
    size = world.layout.events.stat().st_size
    await world.beat()
    assert world.layout.events.stat().st_size == size
    pauses.pause_all(world.layout, None)
    await world.beat()
    pauses.pause_all(world.layout, Pause(iso(world.clock.now()), by="ann", reason="another"))
    await world.beat()
    assert len(told(world.store, "beat_skipped")) == 2


async def test_a_beat_with_nothing_to_do_is_not_told(world):
    await world.beat()
    assert told(world.store, "beat_skipped") == []


async def test_a_beat_that_failed_is_told_once_for_each_reason(world):
    log = BeatLog(world.engine().log)
    for why in ("no room", "no room", "no right", "no right"):
        log.failed(why, 1.0)
    log.ran(0, "", 2.0)
    log.failed("no room", 3.0)
    assert told(world.store, "beat_failed") == ["no room", "no right", "no room"]


async def test_a_failure_that_could_not_be_written_is_told_with_the_next_beat_that_can(world, monkeypatch):
    engine = world.engine()
    log = BeatLog(engine.log)
    with monkeypatch.context() as full:
        full.setattr(engine.log, "add", lambda *_, **__: (_ for _ in ()).throw(StoreError("no room")))
        log.failed("no room", 1.0)
    log.ran(0, IDLE, 2.0)
    log.ran(0, IDLE, 3.0)
    assert told(world.store, "beat_failed") == ["no room"]


@pytest.mark.long
def test_an_engine_that_was_stopped_by_a_signal_tells_of_the_beats_it_missed(tmp_path):
    root = tmp_path / "state"
    environ = {**os.environ, "LUMEN_STATE": str(root), "PYTHONPATH": str(REPO)}
    run = [sys.executable, "-m", "lumen_tui"]
    subprocess.run([*run, "init"], env=environ, check=True, capture_output=True)
    (root / "lumen.toml").write_text("[heartbeat]\nevery_minutes = 0.1\njitter = 0\n")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*run, "--engine-only"], env=environ, **quiet) as engine:
        try:
            until(lambda: is_asleep(root))
            engine.send_signal(signal.SIGSTOP)
            time.sleep(13)  # two intervals: nothing tells of a process that stands still but the time that goes by
            engine.send_signal(signal.SIGCONT)
            until(lambda: told(Store(root), "beats_missed"))
            assert told(Store(root), "beats_missed")[0].endswith(f"missed while {STOOD_STILL}")
        finally:
            engine.send_signal(signal.SIGCONT)
            engine.terminate()
