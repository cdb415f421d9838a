"""News wakes an engine that sleeps, and what the engine itself writes does not."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from lumen_until import until_async

from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.engine import Engine
from lumen_tui.engine.runner import Runner, RunOptions
from lumen_tui.storage import journal
from lumen_tui.storage.layout import Layout

pytestmark = pytest.mark.usefixtures("inotify")


async def test_an_idle_beat_does_not_wake_the_engine_again(world):
    engine = world.engine()
    await world.beat()
    engine.sleep(world.clock.now(), world.clock.now() + 300)
    engine.supervisor.dispatcher.wakeups.happened()
    engine.arrivals.poll(engine.config)
    await world.beat()
    engine.sleep(world.clock.now(), world.clock.now() + 300)
    assert not engine.supervisor.dispatcher.wakeups.happened()
    assert not engine.arrivals.poll(engine.config)


async def test_a_signal_wakes_and_asks_for_one_beat(world):
    engine = world.engine()
    await world.beat()
    engine.supervisor.dispatcher.wakeups.happened()
    world.do("signal.send", message="the port moved", wu_id="WU-100")
    assert engine.supervisor.dispatcher.wakeups.happened()
    assert engine.arrivals.poll(engine.config)
    assert not engine.arrivals.poll(engine.config)
    assert (await world.beat()).loop == 1
    assert not engine.arrivals.poll(engine.config)


async def test_a_rewritten_journal_is_looked_through_once(world, monkeypatch):
    world.do("signal.send", message="the port moved")
    assert (await world.beat()).loop == 1
    world.store.signals.rewrite(list)
    looked, look_for = [], journal._after_line
    monkeypatch.setattr(journal, "_after_line", lambda fd, last: looked.append(last) or look_for(fd, last))
    for _ in range(3):
        assert (await world.beat()).skipped == "nothing new"
    assert len(looked) == 1
    world.do("signal.send", message="and moved back")
    assert (await world.beat()).loop == 2


@pytest.mark.parametrize("name", ["work", "approvals"])
async def test_a_change_of_work_units_or_approvals_wakes(world, name):
    engine = world.engine()
    await world.beat()
    engine.supervisor.dispatcher.wakeups.happened()
    (world.root / name / "x.md").write_text("x")
    assert engine.supervisor.dispatcher.wakeups.happened()
    assert engine.arrivals.poll(engine.config)
    assert not engine.arrivals.poll(engine.config)


def by_the_real_clock(tmp_path, settings=""):
    """An engine that beats once an hour, open."""
    layout = Layout(tmp_path / "state")
    layout.create()
    layout.config.write_text(f"[heartbeat]\nevery_minutes = 60\n{settings}")
    return Engine.open(layout.root)


async def test_news_brings_the_next_beat_within_the_settle_time(tmp_path):
    engine = by_the_real_clock(tmp_path, "settle_seconds = 0.2\n")
    store = engine.store
    looped = asyncio.Event()
    beats = []

    def heard(report):
        beats.append(report.loop)
        if report.loop:
            looped.set()
        elif len(beats) == 1:
            perform(store, named("signal.send", {"message": "m", "wu_id": "WU-1"}), by="ann", now=engine.clock.now())

    runner = Runner(engine, RunOptions(signals=False, listeners=[heard]))
    running = asyncio.create_task(runner.run())
    await asyncio.wait_for(looped.wait(), 15)
    runner.request_stop("enough")
    await running
    assert beats == [0, 1]


async def test_a_kill_that_is_lifted_is_said_at_once_and_not_at_the_next_beat(tmp_path):
    """The header would say `killed` over workers that run, for as long as the engine sleeps."""
    engine = by_the_real_clock(tmp_path)
    store = engine.store
    slept = asyncio.Event()
    runner = Runner(engine, RunOptions(signals=False, listeners=[lambda _: slept.set()]))
    running = asyncio.create_task(runner.run())
    await asyncio.wait_for(slept.wait(), 15)

    def beat() -> dict[str, object]:
        return msgspec.json.decode(store.layout.heartbeat.read_bytes())

    async def says(phase: str) -> dict[str, object]:
        await until_async(lambda: beat()["phase"] == phase, beat)
        return beat()

    first = await says("asleep")
    perform(store, named("kill", {"reason": "a drill"}), by="ann", now=engine.clock.now())
    assert "a drill" in str((await says("killed"))["note"])
    perform(store, named("unkill", {}), by="ann", now=engine.clock.now())
    again = await says("asleep")
    assert again["beat"] == first["beat"] and again["next_at"] == first["next_at"]
    runner.request_stop("enough")
    await running
