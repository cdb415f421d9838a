"""The budget's page, its form, and the kill switch as a person uses them."""

from __future__ import annotations

import asyncio

import pytest
from lumen_clock import HandClock
from lumen_robot import screen_text, until

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import ids
from lumen_tui.model.spendbook import SPENT
from lumen_tui.model.times import iso
from lumen_tui.tui.app import LumenApp
from lumen_tui.tui.screens.budget import BudgetScreen, KillForm, UnkillForm

HOSTILE = "[/] [@click=app.quit]x[/] \x1b]52;c;QUJD\x07"


@pytest.fixture
def open_room(purse, now):
    def opened():
        return LumenApp(RemotePort(purse.root, "ann", clock=HandClock(now)), operator="ann", clock=lambda: now)

    return opened


async def test_at_80_columns_nothing_of_why_and_when_is_cut(purse, a_hold, now, open_room):
    purse.settings("[budget]\nday_tokens = 100000\nday_usd = 5.0\n")
    purse.ledger.append(a_hold("spd-1", 95_000, kind=SPENT, usd=4.2, at=iso(now - 600)))
    app = open_room()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.room.snapshot.spend.tokens)
        await pilot.press("dollar_sign")
        await until(pilot, lambda: "by role" in screen_text(app))
        said = " ".join(screen_text(app).replace("│", " ").split())
        assert "today's budget: 95,000 of 100,000 tokens, $4.20 of $5.00 spent" in said
        assert "95,000 of 100,000 tokens, $4.20 of $5.00 (95 %)" in said
        assert "at that pace the cap is reached in 3 min" in said and " UTC" in said
        assert "…" not in screen_text(app)


async def test_the_page_shows_who_spent_and_r_makes_room(purse, a_hold, now, open_room):
    purse.settings("[budget]\nday_tokens = 100000\nday_usd = 5.0\n")
    purse.ledger.append(a_hold("spd-1", 61_000, kind=SPENT, usd=4.2, at=iso(now - 600), model=HOSTILE))
    purse.ledger.hold(a_hold("spd-2", 9000), lambda book: "")
    app = open_room()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.room.snapshot.spend.tokens)
        assert "$4.20 of 5.00" in screen_text(app)
        await pilot.press("dollar_sign")
        await until(pilot, lambda: isinstance(app.screen, BudgetScreen) and "by role" in screen_text(app))
        shown = screen_text(app)
        for words in ("61,000 of 100,000 tokens, $4.20 of $5.00 (84 %)", "9.0 k tokens, $0.01 reserved", "researcher",
                      "in flight", "today's budget: 61,000", "the cap is reached in 11 min"):  # fmt: skip
            assert words in shown
        assert "\x1b]52" not in shown
        await pilot.press("equals_sign", "1", "0", "f2")
        await until(pilot, lambda: "$4.20 of $15.00" in screen_text(app))
        await pilot.press("u")
        await until(pilot, lambda: "$4.20 of $5.00" in screen_text(app))


async def test_a_task_is_named_by_what_it_is_about(purse, a_hold, now, open_room):
    purse.settings("[budget]\nday_tokens = 100000\n")
    task = purse.do("task.new", objective="count the lines").target
    purse.ledger.append(a_hold("spd-1", 99_000, kind=SPENT, at=iso(now - 600), task=task))
    app = open_room()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.room.snapshot.spend.tokens)
        await pilot.press("dollar_sign")
        await until(pilot, lambda: "by task" in screen_text(app))
        assert f"{ids.short(task)}  count the lines" in screen_text(app)
        assert "API time" in screen_text(app)
        await pilot.press("w")
        await until(pilot, lambda: "Who spent today" in screen_text(app) and "99 k tokens" in screen_text(app))
        await pilot.press("w")
        await until(pilot, lambda: "Trace of" in screen_text(app) and "this" in screen_text(app))


async def test_the_switch_wants_the_name_typed_and_is_lifted_only_by_an_answer(purse, now, open_room):
    child = purse.stubborn("tsk-a")
    app = open_room()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.room.snapshot.root)
        await pilot.press("ctrl+k")
        await until(pilot, lambda: isinstance(app.screen, KillForm))
        assert "Type lumen to go on" in screen_text(app)
        await pilot.press("x", "f2")
        assert not purse.layout.kill.exists()
        await pilot.press("backspace", *"lumen", "tab", *"wild", "f2")
        await until(pilot, lambda: app.room.snapshot.killed)
        assert await asyncio.to_thread(child.wait, 2) != 0
        await until(pilot, lambda: "killed by ann: wild" in screen_text(app))
        await pilot.press("ctrl+k")
        await until(pilot, lambda: isinstance(app.screen, UnkillForm) and "It resumes at once" in screen_text(app))
        await pilot.press("ctrl+k", "enter")
        await until(pilot, lambda: app.screen is app.room)
        assert purse.layout.kill.exists()
        await pilot.press("ctrl+k")
        await until(pilot, lambda: isinstance(app.screen, UnkillForm))
        await pilot.press("y")
        await until(pilot, lambda: not app.room.snapshot.killed)
        assert not purse.layout.kill.exists()


async def test_enter_in_the_list_of_needs_asks_before_it_lifts_the_switch(purse, now, open_room):
    purse.do("kill", reason="wild")
    app = open_room()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.room.snapshot.killed)
        await pilot.press("exclamation_mark")
        await until(
            pilot, lambda: "the agent is killed by ann: wild" in screen_text(app) and app.screen is not app.room
        )
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, UnkillForm))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.room)
        assert purse.layout.kill.exists()


async def test_the_kill_key_works_above_another_screen(purse, now, open_room):
    app = open_room()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.room.snapshot.root)
        await pilot.press("dollar_sign")
        await until(pilot, lambda: isinstance(app.screen, BudgetScreen))
        await pilot.press("ctrl+k")
        await until(pilot, lambda: isinstance(app.screen, KillForm))
        assert "No worker is running now." in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, BudgetScreen))
