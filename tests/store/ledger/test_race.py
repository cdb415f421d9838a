"""Workers that race for one cap and are killed at any moment: it holds, and every settled call counts once."""

from __future__ import annotations

import random
import signal
import time
from functools import partial

import lumen_sweeps
import msgspec
import pytest
from lumen_until import until

from lumen_tui.model.spendbook import HOLD, LOST, RELEASE, SETTLE, LedgerEntry

CAP = 20_000
WORKERS, KILLS = 6, 25
MANY = 20
MOST = 400  # tokens of one call of a racer


def lines(purse) -> list[LedgerEntry]:
    return [msgspec.json.decode(line, type=LedgerEntry) for line in purse.layout.spend.read_bytes().splitlines()]


def check_cap(entries: list[LedgerEntry]) -> int:
    """Replay the ledger in its order without the program's own totals: the most that was ever spent or set aside."""
    held: dict[str, int] = {}
    spent, most = 0, 0
    for entry in entries:
        if entry.kind == HOLD:
            held[entry.id] = entry.tokens
        elif entry.kind in (SETTLE, RELEASE) and entry.id in held:
            assert entry.tokens <= held[entry.id]
            del held[entry.id]
            spent += entry.tokens
        most = max(most, spent + sum(held.values()))
    return most


def settlements(entries: list[LedgerEntry]) -> dict[str, int]:
    """The tokens of the calls that were settled; none twice."""
    found = [entry for entry in entries if entry.kind in (SETTLE, RELEASE)]
    by_call = {entry.id: entry.tokens for entry in found}
    assert len(by_call) == len(found)
    return by_call


def acknowledged(child) -> list[int]:
    out, _ = child.communicate()
    return [
        int(line.split()[1]) for line in out.splitlines(keepends=True) if line.startswith("settled") and "\n" in line
    ]


@pytest.mark.fault("R6", "workers that race for the budget, killed at random")
@pytest.mark.threat("S10", "caps of tokens and money under races, kills and wrong clocks")
@pytest.mark.sweep
@pytest.mark.parametrize("seed", lumen_sweeps.seeds(8))
def test_the_cap_holds_and_spend_counts_once_whatever_is_killed(purse, seed):
    """As many kills as there are, each once there is something new in the ledger: no machine is too slow for that."""
    purse.settings(f"[budget]\nday_tokens = {CAP}\nday_usd = 0\n")
    chance = random.Random(seed)  # noqa: S311
    alive = [purse.race(f"tsk-{number}", seed * 100 + number, 400) for number in range(WORKERS)]
    size = 0
    for number in range(WORKERS, WORKERS + KILLS):
        until(partial(goes_on, purse, size), 60)
        time.sleep(chance.uniform(0, 0.03))  # somewhere within a call
        size = purse.layout.spend.stat().st_size
        victim = alive.pop(chance.randrange(len(alive)))
        victim.send_signal(signal.SIGKILL)
        alive.append(purse.race(f"tsk-{number}", seed * 100 + number, 400))
    until(lambda: SETTLE.encode() in purse.layout.spend.read_bytes(), 60)
    for child in alive:
        child.kill()
    told = [tokens for child in purse.children for tokens in acknowledged(child)]
    entries = lines(purse)
    assert check_cap(entries) <= CAP
    settled, ledger = settlements(entries), purse.ledger
    ((day, total),) = ledger.book.days.items()
    held = ledger.book.held(day)
    assert total.tokens == sum(settled.values()) >= sum(told)
    assert len(settled) >= len(told)
    dead = ledger.give_up_dead(time.time())
    assert {hold.id for hold in dead} == {entry.id for entry in entries if entry.kind == HOLD} - settled.keys()
    (after,) = purse.ledger.book.days.values()
    assert after.tokens == total.tokens + held.tokens <= CAP
    assert sum(entry.kind == LOST for entry in lines(purse)) == len(dead)
    assert purse.ledger.give_up_dead(time.time()) == []


def goes_on(purse, size: int) -> bool:
    """Whether the ledger has grown; also where everyone who lives waits for room."""
    path = purse.layout.spend
    return path.exists() and (path.stat().st_size > size or bool(purse.ledger.book.waits))


@pytest.mark.fault("R6", "workers that race for the budget, killed at random")
@pytest.mark.threat("S10", "caps of tokens and money under races, kills and wrong clocks")
def test_many_at_once(purse):
    purse.settings("[budget]\nday_tokens = 3000\nday_usd = 0\n")
    children = [purse.race(f"tsk-{number}", number, 30) for number in range(MANY)]
    until(lambda: purse.layout.spend.exists() and len(purse.ledger.book.waits) > MANY // 2, 100)
    for child in children:
        child.kill()
        child.communicate()
    entries = lines(purse)
    assert 3000 - MOST < check_cap(entries) <= 3000
    assert sum(settlements(entries).values()) == sum(day.tokens for day in purse.ledger.book.days.values())
