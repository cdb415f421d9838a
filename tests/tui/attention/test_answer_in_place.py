"""Answering what workers ask, from the list and from the page, on a real state folder."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lumen_tui.model.times import iso
from lumen_tui.store import approvals
from lumen_tui.store.settings.config import load_config
from lumen_tui.tui.screens import approval_answer

NOW = 1_800_000_000.0
LONG = "make deploy " + "with=a-long-argument " * 12 + "&& make hidden-tail"


async def test_a_plain_call_in_sight_is_allowed_at_once_and_the_next_one_comes(desk: Any, open_room: Any) -> None:
    first, second = desk.ask("make one", at=NOW - 300), desk.ask("make two", at=NOW - 200)
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 2", "▲ 2 need you", "auto-denied in 55 min")
        await room.press("y")
        await room.until(lambda: desk.answer(first))
        assert desk.answer(first).allowed
        await room.sees("Needs you · 1", "allowed: builder: make one")
        await room.rested()
        await room.press("y")
        await room.until(lambda: desk.answer(second))
        await room.sees("Nothing needs you.", "nothing needs you")


async def test_a_key_that_is_held_down_answers_once(desk: Any, open_room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approval_answer, "_REST", 60.0)
    first, second = desk.ask("make one"), desk.ask("make two", at=NOW - 200)
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 2")
        await room.press("y", "y", "y")
        await room.until(lambda: desk.answer(first))
        await room.sees("Needs you · 1")
        assert desk.answer(second) is None


async def test_what_does_not_fit_the_row_is_shown_whole_before_it_is_allowed(desk: Any, open_room: Any) -> None:
    request = desk.ask(LONG)
    async with open_room(desk, size=(80, 24)) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 1")
        assert "hidden-tail" not in room.text
        await room.press("y")
        await room.sees("Allow this?", "hidden-tail")
        await room.press("y", "enter")
        assert desk.answer(request) is None  # neither the key that asked nor enter says yes
        await room.press("y", "a")
        await room.until(lambda: desk.answer(request))
        assert desk.answer(request).allowed


async def test_a_high_risk_wants_another_key_on_the_page_too(desk: Any, open_room: Any) -> None:
    request = desk.ask("rm -rf build")
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 1", "high risk: it may remove something")
        await room.press("enter", "y")
        await room.sees("Allow this?", "Risk is high")
        await room.press("y", "y")
        assert desk.answer(request) is None
        await room.press("a")
        await room.until(lambda: desk.answer(request))


async def test_no_asks_for_a_reason_and_offers_the_last_one(desk: Any, open_room: Any) -> None:
    first, second = desk.ask("make one"), desk.ask("make two", at=NOW - 200)
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 2")
        await room.press("d")
        await room.sees("Deny builder's call", "1 not now", "3 not allowed here")
        await room.press("r", *"not", "space", *"today", "enter")
        await room.until(lambda: desk.answer(first))
        assert (desk.answer(first).allowed, desk.answer(first).reason) == (False, "not today")
        await room.sees("Needs you · 1")
        await room.rested()
        await room.press("d")
        await room.press("r")
        await room.sees("Deny builder's call", "not today")
        await room.press("1", "enter")
        await room.until(lambda: desk.answer(second))
        assert desk.answer(second).reason == "not today"


async def test_a_digit_behind_no_is_the_reason_and_without_it_a_pane(desk: Any, open_room: Any) -> None:
    request = desk.ask("make one")
    async with open_room(desk) as room:
        await room.press("n", "d", "j", "2")
        assert room.app.room.current.scope == "wake"
        assert desk.answer(request) is None
        await room.press("n", "d", "9", "2")
        await room.until(lambda: desk.answer(request))
        assert (desk.answer(request).allowed, desk.answer(request).reason) == (False, "wrong approach")
        assert room.app.room.current.scope == "wake"


async def test_marked_rows_are_answered_together(desk: Any, open_room: Any) -> None:
    asked = [desk.ask(f"make part-{number}", at=NOW - 300 + number) for number in range(4)]
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 4")
        await room.press("space", "space", "space", "y")
        await room.sees("3 calls", "make part-0", "make part-1", "make part-2")
        await room.press("a")
        await room.until(lambda: all(desk.answer(one) for one in asked[:3]))
        assert desk.answer(asked[3]) is None
        await room.sees("3 calls allowed", "Needs you · 1")
        await room.press("u")
        await room.sees("Needs you · 2")


async def test_always_shows_the_rule_and_saves_it(desk: Any, open_room: Any) -> None:
    request = desk.ask("make test")
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 1")
        await room.press("A")
        await room.sees("1 this task", "2 each task of builder", "3 your pattern")
        await room.press("2")
        await room.sees("Allow always?", "builder may always use shell on: make test, without asking")
        await room.press("y", "enter")
        assert desk.answer(request) is None
        await room.sees("Needs you · 1")
        await room.press("A", "2", "a")
        await room.until(lambda: desk.answer(request))
        await room.until(lambda: load_config(desk.store.layout)[0].allow)
        assert [rule.pattern for rule in load_config(desk.store.layout)[0].allow] == ["make test"]


async def test_for_this_task_alone_is_one_of_the_ways_to_allow_more_than_once(desk: Any, open_room: Any) -> None:
    request = desk.ask("make test")
    async with open_room(desk, size=(80, 24)) as room:
        await room.press("exclamation_mark", "enter", "A")
        await room.sees("1 this task", "2 each task of builder", "3 your pattern")
        await room.press("1")
        await room.sees(
            "Allow until this task ends?", "builder may use shell on: make test, without asking, until task"
        )
        await room.press("a")
        await room.until(lambda: load_config(desk.store.layout)[0].allow)
        assert [rule.task for rule in load_config(desk.store.layout)[0].allow] == [request.task_id]
        assert desk.answer(request).allowed
        await room.press("u")
        await room.until(lambda: not load_config(desk.store.layout)[0].allow)


async def test_a_rule_that_is_written_is_shown_before_it_is_saved(desk: Any, open_room: Any) -> None:
    request = desk.ask("git push origin main")
    async with open_room(desk) as room:
        await room.press("exclamation_mark", "enter", "A", "3")
        await room.sees("The rule's pattern", "git push origin main")
        await room.press("escape")
        await room.until(lambda: not room.app.query("PatternForm"))
        assert desk.answer(request) is None
        await room.press("A", "3", *["backspace"] * 4, "asterisk", "enter")
        await room.sees("Allow always?", "on: git push origin *, without asking")
        await room.press("a")
        await room.until(lambda: load_config(desk.store.layout)[0].allow)
        assert [rule.pattern for rule in load_config(desk.store.layout)[0].allow] == ["git push origin *"]


async def test_an_answer_is_taken_back_until_a_worker_took_it(desk: Any, open_room: Any) -> None:
    request = desk.ask("make one")
    async with open_room(desk) as room:
        await room.press("n", "enter")
        await room.sees("Approval request: 1 of 1")
        await room.press("y")
        await room.sees("No pending approvals")
        await room.press("u")
        await room.sees("Approval request: 1 of 1", "make one")
        assert desk.answer(request) is None
        await room.rested()
        await room.press("y")
        await room.until(lambda: desk.answer(request))
        approvals.take(desk.store.layout, request, 1, desk.clock.wall)
        await room.press("u")
        await room.sees("a worker has acted on this answer already")


async def test_an_answer_that_is_taken_back_before_a_picture_was_without_its_question_asks_again(
    desk: Any, open_room: Any
) -> None:
    desk.ask("make one")
    async with open_room(desk) as room:
        await room.press("n", "enter")
        await room.sees("Approval request: 1 of 1")
        screen, before = room.app.screen, room.app.screen._snapshot
        await room.press("y", "u")
        await room.sees("undone: ")
        screen.show(before)  # as if it were the first one that was read since
        await room.sees("Approval request: 1 of 1", "make one")


async def test_an_answer_from_elsewhere_leaves_the_page_as_it_is(desk: Any, open_room: Any) -> None:
    """A key that is on its way must not answer the question that would have come next."""
    first, second = desk.ask("make one"), desk.ask("make two", at=NOW - 200)
    async with open_room(desk) as room:
        await room.press("n", "enter")
        await room.sees("Approval request: 1 of 2")
        desk.do("approval.deny", approval_ids=[first.id], reason="from a shell")
        await room.sees("It is no longer pending")
        await room.press("y")
        await room.sees("Already answered: denied by ann")
        assert desk.answer(second) is None
        await room.press("n")
        await room.sees("Approval request: 1 of 1", "make two")


async def test_a_question_that_comes_later_does_not_stand_beside_the_answer_to_another(
    desk: Any, open_room: Any
) -> None:
    desk.ask("make one")
    async with open_room(desk) as room:
        await room.press("n", "enter")
        await room.sees("Approval request: 1 of 1")
        await room.press("y")
        await room.sees("No pending approvals", "allowed: ")
        desk.ask("make one")
        await room.sees("Approval request: 1 of 1", "This request just arrived.")


async def test_a_row_that_comes_under_the_cursor_is_not_answered_by_the_same_key(desk: Any, open_room: Any) -> None:
    first, second = desk.ask("make one"), desk.ask("make two", at=NOW - 200)
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 2")
        desk.do("approval.deny", approval_ids=[first.id], reason="from a shell")
        await room.sees("Needs you · 1")
        await room.press("y")
        await room.sees("under the cursor has changed")
        assert desk.answer(second) is None
        await room.press("y")
        await room.until(lambda: desk.answer(second))


async def test_a_failed_task_is_run_again_or_put_off(desk: Any, open_room: Any) -> None:
    again, later = desk.task("fetch the page"), desk.task("count the stars")
    desk.ended(again), desk.ended(later)
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 2", "fetch the page failed")
        await room.press("slash", *"fetch", "enter", "R")
        await room.until(lambda: room.needs == 1)
        await room.until(lambda: any(view.spec.retry_of == again for view in room.app.room.snapshot.tasks))
        await room.press("escape")
        await room.rested()
        await room.press("l")
        await room.sees("until tomorrow")
        await room.press("2")
        await room.sees("Nothing needs you.")
        desk.clock.wall += 86_400
        assert [need.target for need in desk.port.snapshot().attention] == [later]


async def test_what_goes_with_its_cause_is_not_put_aside(desk: Any, open_room: Any) -> None:
    (desk.store.root / "lumen.toml").write_text("[workers]\nlimit = 'x'\n")
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 1")
        await room.press("d")
        await room.sees("goes away with its cause")
        await room.press("y")
        await room.sees("no approval is pending here")


async def test_a_room_that_only_reads_says_so(desk: Any, open_room: Any) -> None:
    request = desk.ask("make one")
    async with open_room(desk, read_only=True) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 1")
        for key in ("y", "d", "A"):
            await room.press(key)
            await room.sees("--read-only")
        assert desk.answer(request) is None


async def test_a_full_budget_is_given_room_where_it_is_listed(desk: Any, open_room: Any) -> None:
    (desk.store.root / "lumen.toml").write_text("[budget]\nday_tokens = 100\n")
    spent = {"id": "spd-1", "kind": "spent", "at": iso(NOW), "day": iso(NOW)[:10], "task": "tsk-a", "tokens": 100}
    (desk.store.root / "spend.jsonl").write_text(json.dumps(spent) + "\n")
    async with open_room(desk, size=(80, 24)) as room:
        await room.press("exclamation_mark")
        await room.sees("budget", "is used up", "= raise budget")
        await room.press("equals_sign")
        await room.sees("Raise today's cap")
        await room.press("tab", *"500", "f2")
        await room.sees("today's budget raised by 500 tokens", "Nothing needs you.")


async def test_why_a_task_failed_is_seen_however_long_its_objective(desk: Any, open_room: Any) -> None:
    task = desk.task("a very long objective " * 20)
    desk.ended(task, reason="429 three times over, then it gave up")
    async with open_room(desk, size=(80, 24)) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 1", "failed: 429 three times over, then it gave up")


async def test_always_says_how_many_other_calls_it_answers(desk: Any, open_room: Any) -> None:
    first, second = desk.ask("make one"), desk.ask("make one", at=NOW - 200)
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 2")
        await room.press("A", "2")
        await room.sees("Allow always?", "It also allows 1 other call that waits now.")
        await room.press("a")
        await room.until(lambda: desk.answer(first) and desk.answer(second))
        await room.sees("and 1 more that waits; saved:")


async def test_the_help_over_the_band_begins_with_what_answers_its_row_and_carries_it_out(
    desk: Any, open_room: Any
) -> None:
    first, second = desk.ask("make one", at=NOW - 300), desk.ask("make two", at=NOW - 200)
    async with open_room(desk) as room:
        await room.press("n", "question_mark")
        await room.sees("Help", "Allow the call that waits.")
        offered = next(index for index, line in enumerate(room.lines) if "Allow the call that waits." in line)
        assert offered < next(index for index, line in enumerate(room.lines) if "Cancel the task" in line)
        await room.press(*"retry")
        await room.sees("not now: it does not answer the selected row")
        await room.press("escape", "question_mark", *"allow the call that waits", "enter")
        await room.until(lambda: desk.answer(first))
        assert desk.answer(first).allowed
        band = room.app.room.band
        await room.until(lambda: band.rows.selected.target == second.id and not band.answers._rests)
        await room.press("colon", *"deny", "enter")
        await room.sees("Deny builder's call")
        assert desk.answer(second) is None
