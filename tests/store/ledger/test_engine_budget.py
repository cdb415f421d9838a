"""The engine under a budget: who starts, what it tells, and what loop-state says."""

from __future__ import annotations

import asyncio
import json

import pytest
from lumen_clock import HandClock

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.engine import Engine
from lumen_tui.model.spendbook import SPENT
from lumen_tui.model.tasks import BEGUN
from lumen_tui.model.times import iso
from lumen_tui.queries.snapshot_reader import SnapshotReader

NO_SERVER = "http://127.0.0.1:9"  # nobody listens


@pytest.fixture
def engine(purse, now, monkeypatch):
    """An engine whose tasks would use a model, and no worker of which gets anywhere."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", NO_SERVER)
    made = Engine.open(purse.root, HandClock(now))
    yield made
    made.close("over")


def beat(engine):
    async def once():
        for _ in range(2):  # a task that is new in one look starts in the next
            engine.beat(engine.clock.now())
        for view in engine.supervisor.index.of_status(BEGUN):
            if view.status.alive:
                engine.supervisor.end(view, status="cancelled", reason="test", now=engine.clock.now())
        await engine.supervisor.wait_for_endings()

    asyncio.run(once())


def spend(purse, a_hold, tokens, **more):
    purse.ledger.append(a_hold(f"spd-{tokens}", tokens, kind=SPENT, **more))


def started(purse):
    return [json.loads(line)["task_id"] for line in purse.layout.events.read_bytes().splitlines()
            if b'"task_started"' in line]  # fmt: skip


def test_nothing_starts_at_the_cap_and_a_raise_lets_it_go_on(purse, engine, a_hold, now):
    purse.settings("[budget]\nday_tokens = 1000\nday_usd = 0\n")
    spend(purse, a_hold, 1000)
    name = purse.do("task.new", objective="x").target
    beat(engine)
    assert started(purse) == []
    assert purse.events("budget_full") == [
        "today's budget is used up: 1,000 of 1,000 tokens spent; raise it for today, or wait for the next day"
    ]
    need = SnapshotReader(purse.root).snapshot(now).attention[0]
    assert (need.need.value, need.target) == ("budget", "budget")
    engine.clock.wall += 60
    purse.do("budget.raise", tokens=500, now=engine.clock.now(), reason="the report is due")
    beat(engine)
    assert started(purse) == [name]
    assert purse.events("budget_resumed") == [
        "goes on: ann raised the budget (the report is due). It had paused because today's budget is used up: "
        "1,000 of 1,000 tokens spent"
    ]
    assert SnapshotReader(purse.root).snapshot(engine.clock.now()).spend.full == ""


def test_a_new_day_lets_it_go_on(purse, engine, a_hold):
    purse.settings("[budget]\nday_tokens = 1000\n")
    spend(purse, a_hold, 1000)
    purse.do("task.new", objective="x")
    beat(engine)
    engine.clock.wall += 86_400
    beat(engine)
    assert len(started(purse)) == 1
    assert "a new day began" in purse.events("budget_resumed")[0]


def test_a_roles_cap_holds_back_that_role_only(purse, engine, a_hold):
    purse.settings("[budget]\nday_tokens = 0\n[budget.roles.reviewer]\ntokens = 100\n")
    spend(purse, a_hold, 100, role="reviewer")
    purse.do("task.new", objective="x", role="reviewer")
    other = purse.do("task.new", objective="x", role="researcher").target
    beat(engine)
    assert started(purse) == [other]


def test_without_a_model_no_budget_holds_anything_back(purse, a_hold, now, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    purse.settings("[budget]\nday_tokens = 1000\n")
    spend(purse, a_hold, 1000)
    name = purse.do("task.new", objective="What are the 3 largest files in /etc?").target
    engine = Engine.open(purse.root, HandClock(now))
    beat(engine)
    engine.close("over")
    assert started(purse) == [name]


def test_the_warning_comes_once_a_day_also_over_restarts(purse, engine, a_hold, now):
    purse.settings("[budget]\nday_tokens = 1000\nday_usd = 0\n")
    spend(purse, a_hold, 850)
    beat(engine)
    beat(engine)
    engine.close("again")
    engine = Engine.open(purse.root, engine.clock)
    beat(engine)
    engine.close("over")
    assert purse.events("budget_warning") == ["today's budget: 850 of 1,000 tokens spent"]
    need = SnapshotReader(purse.root).snapshot(now).attention[0]
    assert need.target == "budget-warning-2026-09-21"
    purse.do("attention.dismiss", targets=[need.target])
    assert SnapshotReader(purse.root).snapshot(now).attention == ()


def test_a_call_of_a_dead_worker_is_told_and_counts_in_full(purse, engine, a_hold, day):
    purse.ledger.hold(a_hold("spd-1", 70, start_ticks=1), lambda book: "")
    beat(engine)
    assert purse.events("spend_unknown") == [
        "70 tokens, $0.0001 count in full: the worker ended before it reported the cost"
    ]
    assert purse.ledger.book.days[day].tokens == 70


def test_loop_state_and_room_agree_with_the_ledger(purse, engine, a_hold, now):
    spend(purse, a_hold, 1234)
    day, tokens, usd = engine.budgets.today(engine.config.budget, now)
    shown = SnapshotReader(purse.root).snapshot(now).spend
    book = purse.ledger.book.days[day]
    assert tokens.used == shown.tokens == book.tokens == 1234
    assert usd == shown.usd == book.usd
    assert tokens.remaining == tokens.limit - 1234


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({}, "name how much more"),
        ({"usd": -5.0}, "above 0"),
        ({"minutes": 30}, "no limit in minutes"),
        ({"tokens": 5, "role": "reviewer"}, "today's budget of role reviewer has no limit in tokens"),
    ],
)
def test_what_cannot_be_raised(purse, asked, why):
    with pytest.raises(ActionError, match=why):
        purse.do("budget.raise", **asked)
    assert not purse.layout.spend.exists()


def test_a_raise_is_taken_back_and_given_again(purse, now, day):
    purse.settings("[budget]\nday_tokens = 1000\n")

    def cap():
        return SnapshotReader(purse.root).snapshot(now).spend.tokens_cap

    purse.do("budget.raise", tokens=500)
    assert cap() == 1500
    purse.do("undo")
    assert cap() == 1000
    purse.do("redo")
    assert cap() == 1500
    assert iso(now)[:10] == day
