"""Kills, torn lines, clock steps, sleeps of the machine: every time that was due is accounted for, none runs twice."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from zoneinfo import ZoneInfo

import lumen_sweeps
import pytest
from lumen_kills import killed_before, state_calls

from lumen_tui.model import times
from lumen_tui.model.config import Config
from lumen_tui.model.schedule_runs import RunState
from tests.engine.schedules.conftest import Deadly, Ground, Killed, at, local_days

_MINUTES = {"often": 30.0, "every": 90.0}
_FAULTS = 40  # in one life


class Life:
    """What happens to a machine with six schedules, and what was due by its own clock."""

    def __init__(self, ground: Ground, deadly: Deadly, seed: int) -> None:
        self.ground, self.deadly = ground, deadly
        self.chance = random.Random(seed)  # noqa: S311 - a sample
        deadly.chance = self.chance
        self.zone = ZoneInfo("Europe/Berlin")
        self.expected: dict[str, set[float]] = {}
        self.faults: Counter[str] = Counter()
        ground.add("night", "30 2 * * *", makes="task", overlap="queue")
        ground.add("morning", "0 9 * * *", makes="task", missed="all")
        ground.add("often", "every 30m", missed="skip")
        ground.add("every", "every 90m", makes="signal", missed="once", jitter=120.0)
        self.since = ground.now
        self._configure()
        ground.poll()

    def _configure(self) -> None:
        table = {"name": "evening", "text": "look back", "when": "0 20 * * *", "zone": self.zone.key, "makes": "wake"}
        self.ground.config = Config(schedules=(table,))

    def due(self, after: float, until: float) -> None:
        """Note what is due while the clock goes from one time to another."""
        berlin = ZoneInfo("Europe/Berlin")
        self._note("night", local_days(2, 30, berlin, after, until))
        self._note("morning", local_days(9, 0, berlin, after, until))
        self._note("evening", local_days(20, 0, self.zone, after, until))
        for name, minutes in _MINUTES.items():
            step = minutes * 60
            first = int((after - self.since) // step) + 1
            last = int((until - self.since) // step)
            self._note(name, [self.since + number * step for number in range(max(1, first), last + 1)])

    def _note(self, name: str, moments: list[float]) -> None:
        self.expected.setdefault(name, set()).update(moments)

    def step(self) -> None:
        """Let some time go by, under one fault."""
        fault = self.chance.choice(
            ["kill", "kill", "kill", "torn", "sleep", "back", "forward", "zone", "held", "ended"]
        )
        self.faults[fault] += 1
        getattr(self, f"_{fault}")()
        self._pass(self.chance.choice([30.0, 60.0, 600.0, 1800.0, 5400.0]))
        self._poll()

    def _pass(self, seconds: float) -> None:
        self.due(self.ground.now, self.ground.now + seconds)
        self.ground.now += seconds

    def _poll(self, **how: bool) -> None:
        try:
            self.ground.poll(**how)
        except Killed:
            self.deadly.left = -1
            self.ground.crash()
            if self.chance.random() < 0.5:
                self._pass(self.chance.choice([1.0, 300.0, 40_000.0]))
            self._poll(**how)

    def _kill(self) -> None:
        self.deadly.left = self.chance.randrange(1, 12)
        self._pass(self.chance.choice([1800.0, 7200.0, 30_000.0]))
        self._poll()
        self.deadly.left = -1
        self.ground.crash()

    def _torn(self) -> None:
        self.ground.crash()
        with open(self.ground.layout.schedule_runs, "ab") as journal:
            journal.write(b'{"schedule":"sch-x","key":"sch-x@2026-')

    def _sleep(self) -> None:
        self._pass(self.chance.choice([7200.0, 40_000.0, 200_000.0]))

    def _back(self) -> None:
        self.ground.now -= self.chance.choice([3.0, 300.0, 7200.0, 90_000.0])
        self._poll()  # only who looks now knows how far it was set back

    def _forward(self) -> None:
        self._pass(self.chance.choice([300.0, 7200.0, 400_000.0]))

    def _zone(self) -> None:
        self._poll()
        self.zone = ZoneInfo(self.chance.choice(["Europe/Berlin", "America/New_York", "Asia/Tokyo", "UTC"]))
        self._configure()
        self._poll()

    def _held(self) -> None:
        self._pass(3600.0)
        self._poll(may_start=False)

    def _ended(self) -> None:
        for task in self.ground.tasks():
            self.ground.end_task(task)


def unaccounted(life: Life, until: float) -> list[tuple[str, str]]:
    """What was due by then and is in no record."""
    lost = []
    for name, moments in life.expected.items():
        runs = [run for run in life.ground.runs(name) if run.cause == "time"]
        single = {run.due_at for run in runs if run.key}
        ranges = [(times.epoch(run.first), run.due_at) for run in runs if run.first]
        lost += [
            (name, times.iso(moment))
            for moment in sorted(moments)
            if moment <= until and moment not in single and not any(first <= moment <= last for first, last in ranges)
        ]
    return lost


@pytest.mark.fault("R8", "schedules under 1,000 faults: a clock set back and forward, other zones, sleep, kills")
@pytest.mark.parametrize("seed", lumen_sweeps.seeds(25))
def test_nothing_is_missed_in_silence_and_nothing_runs_twice(
    tmp_path: Path, deadly: Deadly, seed: int, record_property
) -> None:
    ground = Ground(tmp_path / "state", at("2026-10-20 08:00"))
    life = Life(ground, deadly, seed)
    for _ in range(_FAULTS):
        life.step()
    end = ground.now
    life._pass(180)  # what has a jitter begins
    ground.poll()
    assert unaccounted(life, end) == []
    runs = ground.runs()
    assert not [run for run in runs if run.key and run.due_at not in life.expected[run.name]]
    made = Counter(run.made for run in runs if run.made)
    assert not [name for name, count in made.items() if count > 1]
    tasks = [run.made for run in runs if run.makes == "task" and run.state is RunState.DONE]
    assert sorted(tasks) == sorted(ground.tasks())
    sent = [run.made for run in runs if run.makes == "signal" and run.state is RunState.DONE]
    assert sorted(sent) == sorted(str(one["id"]) for one in ground.store.signals.records(dict))
    states = Counter(str(run.state) for run in runs)
    record_property(lumen_sweeps.OUTCOMES, ", ".join(f"{n} {what}" for what, n in (life.faults + states).items()))
    ground.crash()


@pytest.mark.fault("R1", "SIGKILL before each write of mail, schedules and what hosts send")
def test_at_every_moment_a_kill_leaves_what_is_carried_out_once(ground: Ground, tmp_path: Path, sampled) -> None:
    ground.add("task", "0 9 * * *", makes="task")
    ground.add("signal", "0 9 * * *", makes="signal")
    ground.add("wake", "0 9 * * *")
    ground.now = at("2026-10-24 09:00")

    def act() -> None:
        Ground(ground.root, at("2026-10-24 09:00")).poll()

    import shutil

    shutil.copytree(ground.root, tmp_path / "before")
    calls = state_calls(ground.root, act)
    assert len(calls) > 10
    for call in sampled(list(range(len(calls))), 6):
        shutil.rmtree(ground.root)
        shutil.copytree(tmp_path / "before", ground.root)
        assert killed_before(call, ground.root, act)
        for later in (1, 30, 7200):
            Ground(ground.root, at("2026-10-24 09:00") + later).poll()
        assert sorted(ground.states()) == ["run", "run", "run"], calls[call]
        assert len(ground.tasks()) == 1
        assert len(list(ground.store.signals.lines())) == 1
