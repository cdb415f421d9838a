"""A worker that sends one signal after another does not wake the main agent with each."""

from __future__ import annotations

from typing import Any

from lumen_apiserver import tool

from lumen_tui.engine.events import recent_events
from lumen_tui.model.records import Signal
from lumen_tui.model.snapshot import Need
from lumen_tui.model.times import iso
from lumen_tui.queries.snapshot_reader import SnapshotReader


def says(office: Any, task: str, text: str, priority: str = "P0") -> None:
    """As the tool `signal` of a worker does."""
    record = Signal(
        f"sig-{len(text)}-{task}", text, iso(office.clock.now()), sender="builder", priority=priority, task_id=task
    )
    office.store.signals.append(record)


def arrived(office: Any) -> bool:
    return bool(office.engine.arrivals.poll(office.engine.config))


async def test_what_a_task_says_again_waits_for_the_regular_beat_or_the_next_loop(office, api):
    api.otherwise(tool("deposit", wake_state="seen"))
    await office.beat()
    says(office, "tsk-a", "the disk is full")
    assert arrived(office), "the first one wakes at once"
    assert (await office.beat()).loop == 1
    await office.loop_over(1)
    for text in ("it is still full", "and it is full again"):
        says(office, "tsk-a", text)
        assert not arrived(office)
        report = await office.beat()
        assert report.loop == 0 and report.skipped.startswith("tsk-a woke the agent a moment ago")
    shown = [
        one.text
        for one in SnapshotReader(office.root).snapshot(office.clock.now()).attention
        if one.need is Need.P0_SIGNAL
    ]
    assert len(shown) == 3, "a person sees each at once"
    says(office, "tsk-b", "mine is full, too")
    assert arrived(office), "another task is heard at once"
    assert (await office.beat()).loop == 2
    await office.loop_over(2)
    assert "and it is full again" in api.asked[-1].first_text and "mine is full, too" in api.asked[-1].first_text
    says(office, "tsk-a", "full for good, as it seems")
    assert (await office.beat()).loop == 0
    office.clock.pass_time(300)
    assert (await office.beat()).loop == 3, "the regular beat takes it"
    await office.loop_over(3)
    assert "full for good" in api.asked[-1].first_text


async def test_a_person_who_asks_and_other_news_are_not_held_up(office, api):
    api.otherwise(tool("deposit", wake_state="seen"))
    says(office, "tsk-a", "one")
    assert (await office.beat()).loop == 1
    await office.loop_over(1)
    says(office, "tsk-a", "two, then")
    assert (await office.beat("asked")).loop == 2
    await office.loop_over(2)
    says(office, "tsk-a", "three, at last", priority="P2")
    assert (await office.beat()).loop == 0
    office.do("signal.send", message="a word of the operator", to="lumen")
    assert arrived(office) and (await office.beat()).loop == 3
    await office.loop_over(3)
    assert "three, at last" in api.asked[-1].first_text
    assert [event.kind for event in recent_events(office.store, 50)].count("loop_started") == 3
