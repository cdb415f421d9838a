"""A day in 24 simulated hours: three schedules, a follow-up, a machine asleep, another zone, a change of the clocks."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from itertools import pairwise

import msgspec
import pytest

from lumen_tui.engine.events import recent_events
from lumen_tui.model.config import Config, SchedulingConfig
from lumen_tui.model.schedule_runs import RunState
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store.schedules import schedules
from tests.engine.schedules.conftest import BERLIN, Ground, at


def _settings(zone: str) -> Config:
    table = {"name": "review", "text": "look back", "when": "0 20 * * *", "zone": zone, "makes": "wake"}
    return Config(schedules=(table,))


def test_every_run_of_a_day_is_there_or_accounted_for(ground: Ground) -> None:
    ground.now = at("2026-10-24 08:00")
    ground.config = _settings("Europe/Berlin")
    ground.add("night", "30 2 * * *", makes="task")  # comes twice on that night, as the clocks go back
    ground.add("watch", "every 90m", missed="once")
    ground.add("standup", "0 9 * * *", makes="signal", to="bo")
    ground.add("follow-up", "in 5h")
    ground.run_for(6 * 3600)  # until 14:00
    assert ground.ran("standup") == ["10-24 09:00"]
    assert ground.ran("follow-up") == ["10-24 13:00"]
    assert ground.ran("watch") == ["10-24 09:30", "10-24 11:00", "10-24 12:30", "10-24 14:00"]

    ground.now = at("2026-10-24 18:10")  # the machine slept over 15:30 and 17:00
    ground.poll()
    assert ground.ran("watch")[-1] == "10-24 17:00"
    [missed] = [run for run in ground.runs("watch") if run.state is RunState.MISSED]
    assert (missed.count, datetime.fromtimestamp(missed.due_at, BERLIN).hour) == (1, 15)

    ground.config = _settings("America/New_York")  # 20:00 there is 02:00 of the next day here
    ground.run_for(at("2026-10-25 08:00") - ground.now)
    assert ground.ran("review") == ["10-25 02:00"]
    assert ground.ran("night") == ["10-25 02:30"]
    assert len(ground.tasks()) == 1
    hours = [run.due_at for run in ground.runs("watch")]
    assert {later - first for first, later in pairwise(hours)} == {5400.0}
    assert [str(run.state) for run in ground.runs() if run.state not in (RunState.DONE, RunState.MISSED)] == [
        "from here"  # the other zone
    ]


def test_where_the_clocks_go_forward_a_time_that_is_leapt_over_runs_right_after(ground: Ground) -> None:
    ground.now = at("2027-03-27 12:00")
    ground.add("night", "30 2 * * *")
    ground.add("half", "*/30 2-3 * * *")
    ground.run_for(36 * 3600, step=300)
    assert ground.ran("night") == ["03-28 03:00"]
    assert ground.ran("half") == ["03-28 03:00", "03-28 03:30"]


def test_steps_follow_the_time_that_passes_where_an_hour_comes_twice(ground: Ground) -> None:
    ground.now = at("2026-10-25 01:45")
    ground.add("half", "*/30 * * * *")
    ground.run_for(2.5 * 3600)
    assert ground.ran("half") == ["10-25 02:00", "10-25 02:30", "10-25 02:00", "10-25 02:30", "10-25 03:00"]


def test_what_the_policies_say_of_missed_runs(ground: Ground) -> None:
    for policy in ("skip", "once", "all"):
        ground.add(policy, "0 * * * *", missed=policy, most=2)
    ground.poll()
    ground.now = at("2026-10-24 13:30")  # 9, 10, 11, 12 and 13 o'clock were missed
    ground.poll()
    assert ground.ran("skip") == []
    assert ground.ran("once") == ["10-24 13:00"]
    assert ground.ran("all") == ["10-24 12:00", "10-24 13:00"]
    counts = {name: sum(run.count for run in ground.runs(name)) for name in ("skip", "once", "all")}
    assert counts == {"skip": 5, "once": 5, "all": 5}


def test_a_task_that_still_runs_holds_the_next_one_back(ground: Ground) -> None:
    ground.add("skips", "0 * * * *", makes="task")
    ground.add("queues", "0 * * * *", makes="task", overlap="queue")
    ground.run_for(4 * 3600, step=600)
    assert ground.states("skips").count("skipped") == 3
    assert ground.states("queues").count("queued") == 3
    assert len(ground.tasks()) == 2
    for _ in range(3):
        for task in ground.tasks():
            ground.end_task(task)
        ground.poll(10)
    assert ground.states("queues").count("run") == 4
    assert len(set(ground.tasks())) == 5


def test_a_pause_skips_and_says_so_and_the_agent_s_pause_makes_late(ground: Ground) -> None:
    ground.add("look", "0 * * * *")
    ground.poll()
    ground.do("schedule.pause", name="look", reason="a release")
    ground.run_for(2 * 3600)
    ground.do("schedule.resume", name="look")
    assert ground.states("look") == ["skipped", "skipped"]
    assert {run.why for run in ground.runs("look")} == {"paused by ana: a release"}
    for _ in range(8):
        ground.poll(900, may_start=False)
    assert ground.states("look") == ["skipped", "skipped"]
    ground.poll()
    assert ground.states("look")[2:] == ["missed", "run"]


def test_a_pause_and_its_end_while_nothing_drives_are_known_later(ground: Ground) -> None:
    ground.add("look", "0 * * * *", missed="all", most=5)
    ground.poll()
    ground.crash()
    ground.now = at("2026-10-24 08:30")
    ground.do("schedule.pause", name="look")
    ground.now = at("2026-10-24 10:30")
    ground.do("schedule.resume", name="look")
    ground.now = at("2026-10-24 11:30")
    ground.poll()
    assert ground.states("look") == ["skipped", "skipped", "run"]


def test_a_clock_that_was_years_ahead_silences_nothing(ground: Ground) -> None:
    ground.add("look", "0 9 * * *")
    begun = ground.now
    ground.now += 4 * 365 * 86_400
    ground.poll()
    ran = ground.states("look").count("run")
    ground.now = begun
    ground.poll()
    ground.crash()
    ground.run_for(2 * 86_400, step=600)
    assert ground.states("look").count("run") == ran + 2


def test_a_run_now_is_beside_its_times_and_is_taken_back_until_it_begins(ground: Ground) -> None:
    ground.add("look", "0 9 * * *")
    ground.do("schedule.run", name="look")
    ground.do("undo")
    ground.poll()
    assert ground.states("look") == ["withdrawn"]
    ground.do("schedule.run", name="look")
    ground.poll(1)
    assert ground.states("look") == ["withdrawn", "run"]
    ground.run_for(2 * 3600)
    assert ground.ran("look")[-1] == "10-24 09:00"


def test_what_is_removed_is_settled_up_to_then(ground: Ground) -> None:
    ground.add("look", "0 * * * *")
    ground.poll()
    ground.crash()
    ground.now = at("2026-10-24 10:30")
    ground.do("schedule.remove", name="look")
    ground.now = at("2026-10-24 15:30")
    ground.poll()
    [missed] = ground.runs("look")
    assert (missed.count, missed.why) == (2, "not run in time before it was removed")


def test_jitter_is_the_same_draw_whoever_looks(ground: Ground) -> None:
    ground.add("look", "0 9 * * *", jitter=1800.0)
    ground.run_for(at("2026-10-24 08:59") - ground.now, step=600)
    looked = []
    while not ground.runs("look"):
        ground.crash()
        ground.poll(60)
        looked.append(ground.now)
    assert 1 < len(looked) <= 32
    assert ground.runs("look")[0].count == 1
    assert ground.ran("look") == ["10-24 09:00"]


def test_a_single_time_is_over_once_it_ran(ground: Ground) -> None:
    ground.add("once", "at 2026-10-24 09:00")
    ground.run_for(2 * 3600)
    assert (ground.ran("once"), str(ground.known("once").status)) == (["10-24 09:00"], "over")
    ground.add("once", "at 2026-10-24 11:00")  # its name is free again
    ground.run_for(3 * 3600)
    assert ground.ran("once") == ["10-24 09:00", "10-24 11:00"]


def test_a_rule_that_was_broken_by_hand_stops_itself_alone_and_is_named(ground: Ground) -> None:
    ground.add("good", "0 9 * * *")
    ground.add("broken", "0 9 * * *")
    spoilt = {"when": "0 99 * * *", "zone": "Mars"}
    schedules.put(ground.layout, msgspec.structs.replace(ground.known("broken"), **spoilt))
    ground.run_for(4 * 3600)
    assert ground.ran("good") == ["10-24 09:00"]
    assert ground.runs("broken") == []
    told = [event.text for event in recent_events(ground.store, 50) if event.kind == "schedule_failed"]
    assert len(told) == 1 and "schedule broken cannot be read: there is no time zone 'Mars'" in told[0]
    with closing(SnapshotReader(ground.root)) as reader:
        assert [one.name for one in reader.snapshot(ground.now).upcoming] == ["good"]


def test_a_journal_that_was_shortened_knows_what_was_done(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "_LONG", 10_000)
    monkeypatch.setattr(schedules, "_RETAINED", 5)
    ground.add("often", "every 30m")
    ground.add("rarely", "0 9 24 10 *")
    ground.run_for(2 * 86_400, step=600)
    before = ground.ran("often")
    ground.do("schedule.run", name="often")
    ground.scheduler.rest()
    assert [str(run.state) for run in ground.runs("often")].count("asked") == 1
    ground.run_for(3600, step=600)
    ground.crash()
    ground.run_for(3600, step=600)
    assert ground.ran("often")[:4] == before[-4:]
    assert len(ground.ran("often")) == 4 + 1 + 4
    assert ground.ran("rarely") == ["10-24 09:00"]


def test_what_the_agent_schedules_for_itself_runs_so_often_in_a_day_and_no_more(ground: Ground) -> None:
    ground.config = Config(scheduling=SchedulingConfig(agent_runs=5))
    ground.now = at("2026-10-24 02:00")  # midnight in UTC, by which days of the bound are counted
    ground.add("own", "every 15m", by="system", zone="UTC")
    ground.add("mine", "0 * * * *")
    ground.run_for(24 * 3600 - 60, step=300)
    states = ground.states("own")
    assert (states.count("run"), states.count("skipped")) == (5, 90)
    assert ground.runs("own")[-1].why == "the agent's own schedules have run 5 times today, the most they may"
    assert ground.states("mine").count("run") == 23
    ground.run_for(3600, step=300)
    assert ground.states("own").count("run") == 5 + 4


def test_a_run_that_fails_needs_a_person_until_one_succeeds(ground: Ground) -> None:
    ground.add("test", "0 9 * * *", makes="task", role="builder")
    ground.do("role.fire", name="builder", reason="no work")
    ground.run_for(2 * 3600)
    assert ground.states("test") == ["failed"]
    assert "builder" in ground.runs("test")[0].why

    def problems() -> list[str]:
        with closing(SnapshotReader(ground.root)) as reader:
            return [one.what for one in reader.snapshot(ground.now).problems if one.where == "schedule test"]

    assert len(problems()) == 1 and "2026-10-24 07:00 UTC failed" in problems()[0]
    ground.do("role.rehire", name="builder")
    ground.do("schedule.run", name="test")
    ground.poll(1)
    assert problems() == []
