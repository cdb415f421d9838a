"""A real engine carries a schedule out when its time comes, between two beats."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lumen_clock import MovedClock
from lumen_until import until_async

from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.engine import Engine
from lumen_tui.engine.events import recent_events
from lumen_tui.engine.runner import Runner, RunOptions
from lumen_tui.model.schedule_runs import RunState
from lumen_tui.storage.layout import Layout
from lumen_tui.store.schedules import schedules


class WallClock(MovedClock):
    """The machine's clocks, of which the test moves that on the wall alone."""

    def __init__(self) -> None:
        super().__init__()
        self.wall = 0.0

    def now(self) -> float:
        return super().now() + self.wall


def _states(layout: Layout) -> list[RunState]:
    return [run.state for run in schedules.valid_runs(layout).values()]


async def test_what_is_due_between_two_beats_is_carried_out_then(tmp_path: Path) -> None:
    layout, clock = Layout(tmp_path / "state"), WallClock()
    layout.create()
    layout.config.write_text(
        "[heartbeat]\nevery_minutes = 1000\n"
        '[[schedules]]\nname = "look"\ntext = "hello"\nwhen = "every 2h"\nmakes = "signal"\nto = "bo"\n'
    )
    engine = Engine.open(layout.root, clock)
    runner = Runner(engine, RunOptions(signals=False))
    running = asyncio.create_task(runner.run())
    await until_async(lambda: schedules.read(layout))
    beats = engine.beats
    assert _states(layout) == []
    clock.wall += 7200
    await until_async(lambda: _states(layout) == [RunState.DONE])
    assert engine.beats == beats
    made = perform(engine.store, named("schedule.run", {"name": "look"}), by="ana", now=clock.now())
    assert made.summary == "asked for a run of schedule look"
    await until_async(lambda: _states(layout) == [RunState.DONE] * 2)
    clock.wall -= 7200
    await until_async(lambda: "from here" in [str(run.state) for run in schedules.runs(layout)])
    runner.request_stop("the test is over")
    await running
    assert len(list(engine.store.signals.lines())) == 2
    assert [event.kind for event in recent_events(engine.store, 50)].count("schedule_run") == 2


async def test_an_engine_without_schedules_writes_nothing_about_them(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.create()
    engine = Engine.open(layout.root)
    for _ in range(3):
        engine.beat(engine.clock.now())
    engine.close("done")
    assert not layout.schedules.exists()
    assert not layout.schedule_runs.exists()
