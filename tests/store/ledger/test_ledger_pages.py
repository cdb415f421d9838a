"""The ledger's pages: however often one is turned, by whom and under which kill, each call counts once."""

from __future__ import annotations

import random
import resource
import signal
import time
from functools import partial

import lumen_sweeps
import msgspec
import pytest
from lumen_until import until

from lumen_tui.model.spendbook import HOLD, SETTLE, SPENT, LedgerEntry
from lumen_tui.model.tasks import Usage
from lumen_tui.storage import files, seals
from lumen_tui.store.ledger import ledger_pages
from lumen_tui.store.ledger.ledger import Ledger, LedgerReader
from lumen_tui.store.ledger.ledger_pages import pages

FREE = lambda book: ""  # noqa: E731
WORKERS, KILLS, PAGE = 3, 6, 1500


def at(month: int, day: int = 20) -> dict[str, str]:
    return {"at": f"2026-{month:02d}-{day:02d}T10:00:00.000Z", "day": f"2026-{month:02d}-{day:02d}"}


def names(purse) -> list[str]:
    return [page.name for page in pages(purse.layout.spend)]


def everything(purse) -> list[LedgerEntry]:
    """All lines of all pages in their order."""
    there = [*pages(purse.layout.spend), purse.layout.spend]
    return [
        msgspec.json.decode(line, type=LedgerEntry) for page in there for line in (files.read(page) or b"").splitlines()
    ]


def test_a_month_has_a_page_and_what_caps_need_is_read_over_it(purse, a_hold):
    ledger, slow = purse.ledger, purse.ledger
    assert ledger.hold(a_hold("spd-1", 70, **at(10, 31)), FREE) == ""
    assert slow.refresh().open.keys() == {"spd-1"}
    assert ledger.hold(a_hold("spd-2", 5, **at(10, 31)), FREE) == ""
    assert ledger.hold(a_hold("spd-3", 9, **at(11, 1)), FREE) == ""
    ledger.settle("spd-1", "2026-10-31", 1.0, Usage(20, usd=0.0), seconds=0.0)
    assert names(purse) == ["spend-2026-10.jsonl"]
    assert [entry.id for entry in everything(purse)] == ["spd-1", "spd-2", "spd-3", "spd-1"]
    for one in (ledger, slow, Ledger(purse.layout)):
        book = one.refresh()
        assert (book.days["2026-10-31"].tokens, book.held("2026-10-31").tokens) == (20, 5)
        assert book.held("2026-11-01").tokens == 9
        assert book.tasks["tsk-a"].tokens == 20


def test_pages_of_one_month_keep_their_order_also_where_the_clock_went_back(purse, a_hold, monkeypatch):
    monkeypatch.setattr(ledger_pages, "LARGEST", 100)
    ledger = purse.ledger
    for number in range(1, 14):
        assert ledger.hold(a_hold(f"spd-{number}", 1, **at(11 if number < 8 else 9)), FREE) == ""
    assert names(purse)[:2] == ["spend-2026-11.jsonl", "spend-2026-11.2.jsonl"]
    assert names(purse)[-1] == "spend-2026-11.12.jsonl"
    assert [entry.id for entry in everything(purse)] == [f"spd-{number}" for number in range(1, 14)]
    assert len(Ledger(purse.layout).refresh().open) == len(ledger.refresh().open) == 13


def test_a_kill_right_behind_the_turn_loses_nothing(purse, a_hold):
    ledger = purse.ledger
    ledger.hold(a_hold("spd-1", 70, **at(10)), FREE)
    ledger_pages.turn(purse.layout.spend, at(11)["at"])  # and nothing more: spend.jsonl is not there
    assert not purse.layout.spend.exists()
    reader = LedgerReader(purse.layout)
    reader.refresh()
    assert (reader.problems, reader.book.open.keys()) == ([], {"spd-1"})
    assert ledger.hold(a_hold("spd-2", 5, **at(11)), FREE) == ""
    reader.refresh()
    assert reader.book.open.keys() == ledger.refresh().open.keys() == {"spd-1", "spd-2"}


def test_the_index_is_believed_over_a_turned_page_and_read_on_from_there(purse, a_hold, day):
    entry = LedgerEntry("x", SPENT, **at(10), task="tsk-a", role="r", model="m", tokens=1)
    lines = [msgspec.json.encode(msgspec.structs.replace(entry, id=f"spd-{number}")) for number in range(2000)]
    files.append(purse.layout.spend, b"\n".join(lines) + b"\n")
    assert purse.ledger.book.days["2026-10-20"].tokens == 2000
    assert (purse.layout.index / "spend.json").exists()
    files.append(purse.layout.spend, lines[0].replace(b"spd-0", b"spd-late") + b"\n")
    ledger_pages.turn(purse.layout.spend, at(11)["at"])
    files.append(purse.layout.spend, msgspec.json.encode(a_hold("spd-new", 5, **at(11))) + b"\n")
    ledger = Ledger(purse.layout)
    assert ledger.refresh().days["2026-10-20"].tokens == 2001
    assert ledger.book.open.keys() == {"spd-new"}
    assert ledger.revision == 2  # the rest of the page, and the new one


def test_a_torn_tail_stays_behind_with_its_page(purse, a_hold):
    ledger = purse.ledger
    ledger.hold(a_hold("spd-1", 70, **at(10)), FREE)
    with open(purse.layout.spend, "ab") as file:
        file.write(msgspec.json.encode(a_hold("spd-torn", 50))[:40])
    assert ledger.hold(a_hold("spd-2", 60, **at(11)), FREE) == ""
    assert ledger.refresh().open.keys() == Ledger(purse.layout).refresh().open.keys() == {"spd-1", "spd-2"}


def test_pages_of_the_two_newest_months_are_enough_without_an_index(purse, a_hold):
    for month in (7, 8, 9, 10, 11):
        purse.ledger.hold(a_hold(f"spd-{month}", 1, **at(month)), FREE)
    assert names(purse) == [f"spend-2026-{month:02d}.jsonl" for month in (7, 8, 9, 10)]
    assert len(Ledger(purse.layout).refresh().open) == 5
    (purse.layout.index / "spend.json").unlink()
    assert Ledger(purse.layout).refresh().open.keys() == {"spd-9", "spd-10", "spd-11"}


@pytest.mark.fault("R6", "workers that race for the budget, killed at random")
@pytest.mark.sweep
@pytest.mark.parametrize("seed", lumen_sweeps.seeds(8))
def test_racing_workers_that_are_killed_turn_pages_and_lose_and_double_nothing(purse, seed):
    purse.settings("[budget]\nday_tokens = 0\nday_usd = 0\n")
    chance = random.Random(seed)  # noqa: S311
    watcher = purse.ledger  # one that follows from the beginning
    alive = [purse.race(f"tsk-{number}", seed * 100 + number, 400, page=PAGE) for number in range(WORKERS)]
    for number in range(WORKERS, WORKERS + KILLS):
        until(partial(_has_pages, purse, 2 * (number - WORKERS) + 1), 60)
        watcher.refresh()
        time.sleep(chance.uniform(0, 0.02))  # somewhere within a call
        victim = alive.pop(chance.randrange(len(alive)))
        victim.send_signal(signal.SIGKILL)
        alive.append(purse.race(f"tsk-{number}", seed * 100 + number, 400, page=PAGE))
    for child in alive:
        child.kill()
    told = 0
    for child in purse.children:
        out, _ = child.communicate()
        told += sum(int(line.split()[1]) for line in out.splitlines(keepends=True) if _is_settled(line))
    entries = everything(purse)
    holds = [entry.id for entry in entries if entry.kind == HOLD]
    settled = {entry.id: entry.tokens for entry in entries if entry.kind == SETTLE}
    assert len(set(holds)) == len(holds)
    assert sum(settled.values()) >= told > 0
    purse.layout.index.joinpath("spend.json").unlink(missing_ok=True)
    for ledger in (watcher, purse.ledger):
        book = ledger.refresh()
        assert sum(total.tokens for total in book.days.values()) == sum(settled.values())
        assert len(book.open) <= WORKERS + KILLS
        assert book.open.keys() <= set(holds)


def spend_on_a_page_that_was_turned(purse) -> None:
    """Leave the ledger as a kill does right behind the turn of its page."""
    purse.ledger.append(LedgerEntry("spd-1", SPENT, **at(11), tokens=70))
    seals.move(purse.layout.spend, purse.layout.spend.parent / "spend-2026-11.jsonl")
    purse.layout.index.joinpath("spend.json").unlink(missing_ok=True)


def tokens(ledger: Ledger) -> int:
    return sum(total.tokens for total in ledger.refresh().days.values())


def test_one_that_saw_no_ledger_yet_finds_a_page_that_was_turned_meanwhile(purse):
    watcher = purse.ledger
    spend_on_a_page_that_was_turned(purse)
    assert tokens(watcher) == 70


def test_a_folder_that_cannot_be_listed_is_an_error_and_no_ledger_without_spend(purse):
    """A process that has no file descriptor left must not think that the whole cap is free."""
    spend_on_a_page_that_was_turned(purse)
    fresh = Ledger(purse.layout)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(files.StoreError):
            fresh.refresh()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert tokens(fresh) == 70


def _has_pages(purse, count: int) -> bool:
    return len(pages(purse.layout.spend)) >= count


def _is_settled(line: str) -> bool:
    return line.startswith("settled") and line.endswith("\n")
