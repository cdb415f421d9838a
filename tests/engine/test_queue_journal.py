"""The engine writes each transition of the attention queue once: also after a crash, whoever else writes, and late."""

from __future__ import annotations

import os

import pytest

from lumen_tui.model import times
from lumen_tui.model.approvals import Approval, Decision
from lumen_tui.model.transitions import Transition
from lumen_tui.store import approvals
from lumen_tui.store.attention.transitions import newest_first


def journal(world) -> list[Transition]:
    return list(newest_first(world.layout))[::-1]


def told(world) -> list[tuple[str, str, str]]:
    return [(str(line.kind), line.need, line.ending) for line in journal(world)]


def question(world, minutes: float = 60) -> Approval:
    """A question of the main agent, which lasts without a task."""
    now = world.clock.now()
    request = Approval(
        id=approvals.id_for("loop-000001", "which port?", 1),
        task_id="loop-000001",
        tool="ask_operator",
        hash="h",
        asked_at=times.iso(now),
        expires_at=times.iso(now + minutes * 60),
        question="Which port?",
        summary="Which port?",
        default="8080",
        role="main",
        lasting=True,
    )
    return approvals.ask(world.layout, request)


async def test_an_urgent_signal_appears_once_however_many_beats_there_are(world):
    await world.beat()
    world.do("signal.send", message="the port is taken", priority="P0", by="agent-a")
    for _ in range(3):
        world.clock.pass_time(300)
        await world.beat()
    assert told(world) == [("appeared", "signal", "")]
    assert "the port is taken" in journal(world)[0].text


async def test_what_waits_for_an_hour_and_a_day_is_a_transition_each_and_no_more(world):
    world.do("signal.send", message="look", priority="P0", by="agent-a")
    await world.beat()
    for _ in range(60):
        world.clock.pass_time(1800)
        await world.beat()
    assert [(str(line.kind), line.waited) for line in journal(world)] == [
        ("appeared", 0.0),
        ("aged", 3600.0),
        ("aged", 86400.0),
    ]


async def test_after_days_without_an_engine_only_the_greatest_age_is_told(world):
    world.do("signal.send", message="look", priority="P0", by="agent-a")
    await world.beat()
    world.crash()
    world.clock.pass_time(3 * 86400)
    await world.beat()
    assert [line.waited for line in journal(world) if line.need == "signal"] == [0.0, 86400.0]


async def test_a_question_closes_and_who_answered_it_is_named(world):
    request = question(world)
    await world.beat()
    world.clock.pass_time(51 * 60)
    await world.beat()
    assert told(world) == [("appeared", "question", ""), ("closing", "question", "")]
    answer = Decision(allowed=True, hash="h", at=times.iso(world.now), by="bo", answer="9090")
    approvals.decide(world.layout, request, answer, world.now)
    await world.beat()
    last = journal(world)[-1]
    assert (last.kind, last.ending, last.by, last.note) == ("gone", "answered", "bo", "9090")


async def test_what_expired_says_so(world):
    question(world, minutes=5)
    await world.beat()
    world.clock.pass_time(301)
    await world.beat()
    gone = [line for line in journal(world) if line.kind == "gone"]
    assert [(line.need, line.ending) for line in gone] == [("question", "expired")]


async def test_what_was_snoozed_comes_back_and_what_was_dismissed_does_not(world):
    for number in range(2):
        world.do("signal.send", message=f"look {number}", priority="P0", by="agent-a")
    await world.beat()
    first, second = (line.target for line in journal(world))
    world.do("attention.snooze", targets=[first], seconds=3600)
    world.do("attention.dismiss", targets=[second], reason="seen")
    await world.beat()
    endings = {line.target: (line.ending, line.by) for line in journal(world) if line.kind == "gone"}
    assert endings == {first: ("snoozed", "ann"), second: ("dismissed", "ann")}
    world.clock.pass_time(3700)
    await world.beat()
    assert [(line.target, line.back) for line in journal(world) if line.kind == "appeared"][2:] == [(first, True)]


async def test_a_crash_at_any_point_neither_loses_nor_repeats_a_transition(world):
    world.do("signal.send", message="one", priority="P0", by="agent-a")
    await world.beat()
    world.crash()
    world.do("signal.send", message="two", priority="P0", by="agent-a")
    await world.beat()
    world.crash()
    data = world.layout.transitions.read_bytes()
    world.layout.transitions.write_bytes(data[:-20])  # torn in its last line
    await world.beat()
    signals = [line for line in journal(world) if line.need == "signal"]
    assert sorted(line.text[-3:] for line in signals) == ["one", "two"]
    world.crash()
    await world.beat()
    assert len([line for line in journal(world) if line.need == "signal"]) == 2


async def test_a_journal_that_cannot_be_written_stops_no_beat_and_is_made_up_for(world):
    world.layout.transitions.mkdir()
    world.do("signal.send", message="look", priority="P0", by="agent-a")
    await world.beat()
    os.rmdir(world.layout.transitions)
    world.clock.pass_time(61)
    await world.beat()
    assert ("appeared", "signal", "") in told(world)


async def test_a_long_journal_is_shortened_and_keeps_what_is_on_the_queue(world, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("lumen_tui.store.attention.transitions._LONG", 3000)
    monkeypatch.setattr("lumen_tui.store.attention.transitions._RETAINED", 4)
    world.do("signal.send", message="stays", priority="P0", by="agent-a")
    await world.beat()
    for number in range(20):
        target = world.do("signal.send", message=f"goes {number}", priority="P0", by="agent-a").target
        world.clock.pass_time(5)
        await world.beat()
        world.do("attention.dismiss", targets=[target])
        world.clock.pass_time(5)
        await world.beat()
    assert world.layout.transitions.stat().st_size < 6000
    world.crash()
    await world.beat()
    assert [line.text for line in journal(world) if "stays" in line.text] == ["agent-a: stays"]
