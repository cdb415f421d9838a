"""Caps, the room below them, days and forecasts."""

from __future__ import annotations

import pytest
from lumen_rows import each_row

from lumen_tui.model import budget, spendreport, times
from lumen_tui.model.budget import Cap, Limit
from lumen_tui.model.config import BudgetConfig, RoleBudget
from lumen_tui.model.spendbook import GRANT, HOLD, SETTLE, SPENT, WAIT, Amount, Book, LedgerEntry
from lumen_tui.model.tasks import Budget

NOW = 1_790_000_000.0
DAY = "2026-09-21"


def book_of(*entries: LedgerEntry) -> Book:
    book = Book()
    for entry in entries:
        book.take(entry)
    return book


def spent(
    tokens: int, usd: float = 0.0, *, ago: float = 0.0, role: str = "reviewer", task: str = "t", **more
) -> LedgerEntry:
    at = times.iso(NOW - ago)
    return LedgerEntry(f"c{tokens}-{ago}-{role}", SPENT, at, DAY, task, role=role, tokens=tokens, usd=usd, **more)


@each_row(
    ("starts", "moment", "day"),
    [
        ("00:00", "2026-11-21T00:00:00Z", "2026-11-21"),
        ("00:00", "2026-11-20T23:59:59Z", "2026-11-20"),
        ("06:30", "2026-11-21T06:29:59Z", "2026-11-20"),
        ("06:30", "2026-11-21T06:30:00Z", "2026-11-21"),
    ],
)
def test_a_day_begins_when_the_settings_say(starts, moment, day):
    at = times.parse_iso(moment)
    assert budget.day_of(at, starts) == day
    ends = budget.day_ends(at, starts)
    assert budget.day_of(ends - 1, starts) == day
    assert budget.day_of(ends, starts) > day
    assert ends - at <= times.DAY


@each_row(
    ("limit", "gone", "most", "short"),
    [
        (Limit(tokens=100), Amount(60), Amount(40), ""),
        (Limit(tokens=100), Amount(61), Amount(40), "has no room for a call of up to 40 tokens"),
        (Limit(usd=1.0), Amount(usd=0.7), Amount(usd=0.3), ""),
        (Limit(usd=1.0), Amount(usd=0.7), Amount(usd=0.31), "up to $0.3100"),
        (Limit(seconds=60), Amount(seconds=59), Amount(10), ""),
        (Limit(seconds=60), Amount(seconds=60), Amount(), "is used up: 1 of 1 minutes spent"),
        (Limit(), Amount(10**9, 1e6, 1e6), Amount(10**9), ""),
    ],
)
def test_what_fits_under_a_cap(limit, gone, most, short):
    found = budget.short_of(Cap("today's budget", limit, gone), most)
    assert found == "" if not short else short in found


def test_what_is_set_aside_takes_room_too():
    cap = Cap("today's budget", Limit(tokens=100), Amount(10), Amount(60))
    assert "the rest is set aside" in budget.short_of(cap, Amount(40))


def test_a_call_must_fit_under_every_cap():
    config = BudgetConfig(day_tokens=1000, roles={"reviewer": RoleBudget(tokens=300)}, loop_tokens=50)
    call = LedgerEntry("x", HOLD, times.iso(NOW), DAY, "t", role="reviewer")
    names = [cap.name for cap in budget.caps(Book(), config, call, Budget(tokens=80))]
    assert names == ["the task's budget", "today's budget of role reviewer", "today's budget"]
    loop = LedgerEntry("x", HOLD, times.iso(NOW), DAY, "loop-1", role="main")
    assert [cap.name for cap in budget.caps(Book(), config, loop, Budget())] == ["the loop's budget", "today's budget"]


def test_a_tasks_budget_counts_every_attempt_and_every_day():
    yesterday = LedgerEntry("y", SPENT, times.iso(NOW - times.DAY), "2026-09-20", "t", role="reviewer", tokens=70)
    call = LedgerEntry("x", HOLD, times.iso(NOW), DAY, "t", attempt=2, role="reviewer")
    own = next(iter(budget.caps(book_of(yesterday), BudgetConfig(), call, Budget(tokens=80))))
    assert own.spent.tokens == 70
    assert budget.short_of(own, Amount(11))
    assert not budget.short_of(own, Amount(10))


def test_more_room_for_today_ends_with_the_day_and_limits_nothing_that_had_no_limit():
    config = BudgetConfig(day_tokens=100, day_usd=0)
    grant = LedgerEntry("g", GRANT, times.iso(NOW), DAY, tokens=50, usd=5.0)
    assert budget.day_cap(book_of(grant), config, DAY).limit == Limit(150, 0.0)
    assert budget.day_cap(book_of(grant), config, "2026-09-22").limit == Limit(100, 0.0)


def test_nothing_starts_once_a_cap_is_reached_or_what_is_left_is_too_little():
    config = BudgetConfig(day_tokens=100, roles={"reviewer": RoleBudget(tokens=50)})
    assert budget.blocked(book_of(spent(40)), config, DAY) == ""
    assert budget.blocked(book_of(spent(100)), config, DAY).startswith("today's budget is used up: 100 of 100 tokens")
    waits = LedgerEntry("w", WAIT, times.iso(NOW), DAY, "u", role="builder", tokens=70)
    assert "no room" in budget.blocked(book_of(spent(40), waits), config, DAY)
    assert budget.blocked(book_of(spent(50)), config, DAY) == ""
    assert "role reviewer" in budget.blocked(book_of(spent(50)), config, DAY, "reviewer")
    assert budget.blocked(book_of(spent(50)), config, DAY, "builder") == ""


def test_a_person_is_asked_only_where_waiting_does_not_help():
    config = BudgetConfig(day_tokens=100)
    held = LedgerEntry("h", HOLD, times.iso(NOW), DAY, "t", tokens=90)
    waits = LedgerEntry("w", WAIT, times.iso(NOW), DAY, "u", tokens=20)
    found = budget.view(book_of(held, waits), config, NOW)
    assert (found.full, found.waiting, found.held_tokens) == ("", 1, 90)
    settled = LedgerEntry("h", SETTLE, times.iso(NOW), DAY, tokens=90)
    assert "no room" in budget.view(book_of(held, waits, settled), config, NOW).full
    assert budget.view(book_of(held, waits), config, NOW, alive=()).waiting == 0


def test_a_full_cap_is_not_warned_of_as_well_but_another_one_is():
    config = BudgetConfig(day_tokens=100, roles={"reviewer": RoleBudget(tokens=50)})
    waits = LedgerEntry("w", WAIT, times.iso(NOW), DAY, "u", role="builder", tokens=70)
    found = budget.view(book_of(spent(90, role="builder"), waits), config, NOW)
    assert (bool(found.full), found.warned) == (True, "")
    found = budget.view(book_of(spent(90)), config, NOW)
    assert found.full == ""  # the others go on
    assert "role reviewer is used up" in found.full_roles["reviewer"]
    assert found.reached == tuple(found.full_roles.values())
    assert found.warned.startswith("today's budget: 90 of 100")


def test_the_warning_comes_at_its_share_and_goes_at_the_end():
    config = BudgetConfig(day_tokens=100, day_usd=0)
    assert [bool(budget.view(book_of(spent(gone)), config, NOW).warned) for gone in (79, 80, 99, 100)] == [
        False, True, True, False,
    ]  # fmt: skip


def test_the_forecast_goes_by_the_pace_of_the_last_hour():
    config = BudgetConfig(day_tokens=3000, day_usd=0)
    book = book_of(spent(1000, ago=600), spent(1, ago=3 * 3600))
    view = budget.view(book, config, NOW)
    assert view.reached_at == pytest.approx(NOW + 1999 / 1000 * 3600)
    assert budget.view(book, BudgetConfig(day_tokens=30_000, day_usd=0), NOW).reached_at == 0  # not today
    assert budget.view(book_of(spent(1, ago=3 * 3600)), config, NOW).reached_at == 0
    assert budget.view(book_of(spent(3000)), config, NOW).reached_at == NOW


def test_the_first_cap_that_is_reached_counts():
    cap = Cap("today's budget", Limit(tokens=1000, usd=1.0), Amount(500, 0.9))
    assert budget.reaches(cap, Amount(100, 0.1), NOW) == pytest.approx(NOW + 3600)


def test_the_chart_of_a_day_has_an_hour_for_each_place():
    chart = spendreport.hours(
        book_of(spent(5), spent(7, ago=3600), spent(9, ago=23 * 3600), spent(1, ago=30 * 3600)), NOW
    )
    assert len(chart) == 24
    assert [chart[index].tokens for index in (-1, -2, 0)] == [5, 7, 9]
    assert sum(hour.tokens for hour in chart) == 21
