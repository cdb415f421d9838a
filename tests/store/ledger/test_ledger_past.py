"""The totals of an earlier moment are those that the ledger had then, whichever way one steps."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lumen_tui.model import budget, times
from lumen_tui.model.config import BudgetConfig, RoleBudget
from lumen_tui.model.spendbook import GONE, GRANT, HOLD, LOST, RELEASE, SETTLE, SPENT, WAIT, LedgerEntry, SpendView
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.ledger import ledger_pages
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.ledger.ledger_past import LedgerPast

CONFIG = BudgetConfig(day_tokens=2_000_000, day_usd=9.0, roles={"builder": RoleBudget(usd=2.0)})
START = 1_796_000_000.0  # 29 November: the days that follow are in two months
_BEYOND = 3600.0


def _entry(chance: random.Random, now: float, open_calls: list[LedgerEntry]) -> LedgerEntry:
    """The next line that a worker, an engine or an operator may write."""
    day, at = budget.day_of(now, CONFIG.day_starts), times.iso(now)
    kind = chance.choice((HOLD, HOLD, SETTLE, SETTLE, LOST, RELEASE, SPENT, WAIT, GONE, GRANT))
    if kind in (SETTLE, LOST, RELEASE) and open_calls:
        hold = open_calls.pop(chance.randrange(len(open_calls)))
        tokens = chance.randrange(9000) if kind == SETTLE else 0
        return LedgerEntry(hold.id, kind, at, day=hold.day, tokens=tokens, usd=tokens / 50_000)
    kind = HOLD if kind in (SETTLE, LOST, RELEASE) else kind
    tokens, role = chance.randrange(20_000), chance.choice(("builder", "main"))
    name = f"spd-{chance.getrandbits(60):x}"
    entry = LedgerEntry(
        name, kind, at, day=day, task=f"tsk-{role}", role=role, model="m", tokens=tokens, usd=tokens / 50_000
    )
    if kind == HOLD:
        open_calls.append(entry)
    return entry


def _written(layout: Layout, chance: random.Random) -> list[tuple[float, SpendView]]:
    """Write some days of a ledger, over the end of a month, and return what was shown after each line."""
    ledger, now, shown = Ledger(layout), START, list[tuple[float, SpendView]]()
    open_calls: list[LedgerEntry] = []
    for number in range(900):
        now = round(now + chance.choice((0.4, 30.0, 400.0, 900.0)), 3)
        ledger_pages.turn(layout.spend, times.iso(now))
        if number % 97 == 0:
            files.append(layout.spend, b'{"id":"spd-torn","kind":"hold","at"\xff\n')
        ledger.append(_entry(chance, now, open_calls))
        shown.append((now, budget.view(ledger.refresh(), CONFIG, now)))
    return shown


@pytest.mark.parametrize("seed", range(3))
def test_the_spending_of_any_moment_is_rebuilt(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same sample each time
    layout = Layout(tmp_path / "state")
    layout.create()
    shown = _written(layout, chance)
    assert len(ledger_pages.pages(layout.spend)) == 1
    present, past = shown[-1][0] + _BEYOND, LedgerPast(layout)
    walk = [*shown[-40:], *reversed(shown[-40:]), *chance.sample(shown, 60), *shown[:20]]
    for moment, real in walk:
        assert budget.view(past.book_at(moment, present), CONFIG, moment) == real


def test_before_the_first_line_and_without_a_ledger_nothing_was_spent(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.create()
    assert budget.view(LedgerPast(layout).book_at(START, START + 9), CONFIG, START).tokens == 0
    _written(layout, random.Random(9))  # noqa: S311 - the same sample each time
    assert budget.view(LedgerPast(layout).book_at(START - 60, START + 9), CONFIG, START - 60).tokens == 0


def test_what_was_written_since_is_seen(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.create()
    past, ledger = LedgerPast(layout), Ledger(layout)
    for second in range(5):
        now = START + second
        day = budget.day_of(now, CONFIG.day_starts)
        ledger.append(LedgerEntry(f"spd-{second}", SPENT, times.iso(now), day=day, tokens=100))
        assert budget.view(past.book_at(now, now), CONFIG, now).tokens == 100 * (second + 1)
