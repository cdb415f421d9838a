"""What is put off for an hour comes back by itself, is counted, survives a restart and can be taken back."""

from __future__ import annotations

from typing import Any

import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import RemotePort
from lumen_tui.model import times
from lumen_tui.model.attention import for_an_hour
from lumen_tui.model.times import HOUR


def targets(desk: Any) -> tuple[list[str], list[str]]:
    """What needs a person and what is put off, as a room that opens now sees it."""
    picture = RemotePort(desk.store.root, "ann", clock=desk.clock).snapshot()
    return [one.target for one in picture.attention], [one.target for one in picture.snoozed]


def test_for_an_hour_and_no_longer(desk: Any) -> None:
    task, other = desk.task("a"), desk.task("b")
    desk.ended(task)
    desk.ended(other)
    desk.do("attention.snooze", targets=[task])
    assert targets(desk) == ([other], [task])
    desk.clock.wall += HOUR - 1
    assert targets(desk) == ([other], [task])
    desk.clock.wall += 1
    shown, off = targets(desk)
    assert (set(shown), off) == ({task, other}, [])


def test_it_can_be_taken_back_and_put_aside_for_good(desk: Any) -> None:
    task = desk.task()
    desk.ended(task)
    desk.do("attention.snooze", targets=[task])
    assert desk.do("undo").summary.startswith("undone:")
    assert targets(desk) == ([task], [])
    desk.do("redo")
    assert targets(desk) == ([], [task])
    desk.do("attention.dismiss", targets=[task])
    assert targets(desk) == ([], [])


@pytest.mark.parametrize("seconds", [0, -5, float("nan"), 1e12])
def test_a_time_that_is_none_is_refused(desk: Any, seconds: float) -> None:
    with pytest.raises(ActionError, match="1 second at least"):
        desk.do("attention.snooze", targets=["x"], seconds=seconds)
    assert not desk.store.layout.actions.exists()


def test_a_question_comes_back_before_it_counts_as_no(desk: Any) -> None:
    desk.ask("make deploy")  # 55 minutes are left
    need, now = desk.port.snapshot().attention[0], desk.clock.wall
    assert for_an_hour(need, now) == (50 * 60.0, "")
    seconds, why = for_an_hour(need, now + 50 * 60)
    assert (seconds, why) == (0.0, "it expires too soon to be snoozed")


async def test_l_in_the_list_and_on_the_page_of_a_question(desk: Any, open_room: Any) -> None:
    first, second = desk.ask("make one", at=desk.clock.wall - 400), desk.ask("make two")
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 2")
        await room.press("l")
        await room.sees("Needs you · 1", "1 snoozed", "make two")
        await room.press("enter")
        await room.sees("make two", "l snooze")
        await room.press("l")
        await room.sees("No pending approvals")
        await room.until(lambda: not room.needs)
        await room.press("escape", "escape")
        await room.sees("nothing needs you", "2 snoozed")
        assert desk.answer(first) is None
        assert desk.answer(second) is None
        await room.press("u")
        await room.until(lambda: room.needs == 1)


def test_back_brings_what_was_put_off_or_aside_to_the_list_and_undo_takes_that_back(desk: Any) -> None:
    task, other = desk.task("a"), desk.task("b")
    desk.ended(task)
    desk.ended(other)
    desk.do("attention.snooze", targets=[task])
    desk.do("attention.dismiss", targets=[other])
    off = desk.port.snapshot().snoozed[0]
    assert off.until == times.iso(desk.clock.wall + HOUR)
    desk.do("attention.back", targets=[task, other])
    shown, off = targets(desk)
    assert (set(shown), off) == ({task, other}, [])
    desk.do("undo")
    assert targets(desk) == ([task], [])
    desk.do("attention.snooze", targets=[task])
    assert targets(desk) == ([], [task])


async def test_x_lists_what_is_snoozed_and_b_brings_it_back(desk: Any, open_room: Any) -> None:
    task = desk.task("ship the parser")
    desk.ended(task)
    desk.do("attention.snooze", targets=[task])
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Nothing needs you.", "1 snoozed", "x snoozed")
        await room.press("x")
        await room.sees("Snoozed · 1", "ship the parser", "in 1 h", "b unsnooze")
        await room.press("b")
        await room.sees("Needs you · 1", "ship the parser", "R retry")
        assert " sent " not in room.text
