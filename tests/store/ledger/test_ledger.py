"""The ledger on disk: its index, damage, rewrites, and servers that say anything."""

from __future__ import annotations

import os
import time

import msgspec
import pytest

from lumen_tui.model.spendbook import SETTLE, SPENT, LedgerEntry
from lumen_tui.model.tasks import Usage
from lumen_tui.storage import files
from lumen_tui.store.ledger.ledger import Ledger, LedgerReader
from lumen_tui.worker.accounts import CallAccount

FREE = lambda book: ""  # noqa: E731


def fill(purse, day, count, tokens=1):
    """`count` lines at once, as a busy day leaves them."""
    entry = LedgerEntry(
        "x", SPENT, f"{day}T10:00:00.000Z", day, "tsk-a", 1, "researcher", "claude-sonnet-5-5", tokens, 0.001
    )
    data = msgspec.json.encode(entry)
    lines = b"".join([data.replace(b'"x"', b'"spd-%013d"' % number) + b"\n" for number in range(count)])
    files.append(purse.layout.spend, lines)


def test_a_hold_is_durable_and_read_by_all(purse, a_hold, day):
    mine, other = purse.ledger, purse.ledger
    assert mine.hold(a_hold("spd-1", 70), lambda book: "no" if book.held(day).tokens + 70 > 100 else "") == ""
    assert other.hold(a_hold("spd-2", 70), lambda book: "no" if book.held(day).tokens + 70 > 100 else "") == "no"
    mine.settle("spd-1", day, 1.0, Usage(20, usd=0.0), seconds=1.5)
    assert other.hold(a_hold("spd-2", 70), lambda book: "no" if book.held(day).tokens + 70 > 100 else "") == ""
    book = purse.ledger.book
    assert (book.days[day].tokens, book.days[day].seconds, book.held(day).tokens) == (20, 1.5, 70)


def test_a_day_of_100_000_lines_is_not_read_again(purse, day, a_hold):
    fill(purse, day, 100_000)
    assert purse.ledger.book.days[day].tokens == 100_000  # this one read it all and kept the totals
    files.append(purse.layout.spend, msgspec.json.encode(a_hold("spd-new", 5)) + b"\n")
    began = time.process_time()
    again = purse.ledger
    took = time.process_time() - began
    assert again.book.days[day].tokens == 100_000
    assert again.book.held(day).tokens == 5
    assert again._follower.offset == os.stat(purse.layout.spend).st_size
    assert took < 0.1


@pytest.mark.parametrize("harm", ["gone", "rubbish", "other", "longer"])
def test_an_index_that_does_not_fit_is_not_believed(purse, day, harm):
    fill(purse, day, 2000, tokens=3)
    assert purse.ledger.book.days[day].tokens == 6000
    index = purse.layout.index / "spend.json"
    if harm == "gone":
        index.unlink()
    elif harm == "rubbish":
        index.write_bytes(b'{"place": [')
    elif harm == "other":
        data = purse.layout.spend.read_bytes().replace(b'"tokens":3', b'"tokens":4')
        purse.layout.spend.write_bytes(data)  # edited by hand, in the same file
        assert purse.ledger.book.days[day].tokens == 8000
        return
    else:
        place = msgspec.json.decode(index.read_bytes())
        place["place"][2] += 10_000_000
        index.write_bytes(msgspec.json.encode(place))
    assert purse.ledger.book.days[day].tokens == 6000


def test_a_ledger_that_is_replaced_is_read_anew(purse, day):
    fill(purse, day, 10)
    ledger = purse.ledger
    files.replace(purse.layout.spend, purse.layout.spend.read_bytes()[: -len(purse.layout.spend.read_bytes()) // 2])
    assert ledger.refresh().days[day].tokens < 10
    purse.layout.spend.unlink()
    assert ledger.refresh().days == {}


@pytest.mark.fault("R2", "a torn line in the ledger, in chats and in streams")
def test_a_torn_hold_was_never_acknowledged_and_counts_nothing(purse, a_hold, day):
    with open(purse.layout.spend, "ab") as file:
        file.write(msgspec.json.encode(a_hold("spd-torn", 50))[:40])
    ledger = purse.ledger
    assert ledger.hold(a_hold("spd-2", 60), FREE) == ""
    assert ledger.refresh().held(day).tokens == 60
    reader = LedgerReader(purse.layout)
    reader.refresh()
    assert "1 damaged line" in reader.problems[0].what


@pytest.mark.threat("S10", "caps of tokens and money under races, kills and wrong clocks")
@pytest.mark.parametrize("usd", [-5.0, float("nan"), float("inf")])
def test_a_server_cannot_make_money(purse, a_hold, day, usd):
    ledger = purse.ledger
    ledger.hold(a_hold("spd-1", 70), FREE)
    ledger.settle("spd-1", day, 1.0, Usage(-1000, usd=usd), seconds=-3.0)
    total = ledger.refresh().days[day]
    assert (total.tokens, total.usd, total.seconds) == (0, 0.0, 0.0)


def test_a_ledger_that_is_a_link_is_refused_and_shown(purse, a_hold, tmp_path):
    (tmp_path / "elsewhere").write_bytes(b"")
    purse.layout.spend.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(files.Refused):
        Ledger(purse.layout).hold(a_hold("spd-1"), FREE)
    reader = LedgerReader(purse.layout)
    reader.refresh()
    assert "symbolic link" in reader.problems[0].what


def test_a_dead_workers_hold_counts_in_full_and_its_wait_is_over(purse, a_hold, day, now):
    ledger = purse.ledger
    ledger.hold(a_hold("spd-1", 70, start_ticks=1), FREE)
    ledger.hold(a_hold("spd-2", 30), FREE)
    ledger.append(a_hold("wait-1", 10, start_ticks=1, kind="wait", task="tsk-b"))
    assert [entry.id for entry in ledger.give_up_dead(now)] == ["spd-1"]
    book = ledger.refresh()
    assert (book.days[day].tokens, book.held(day).tokens, book.waits) == (70, 30, {})


def test_what_is_told_once_is_told_once(purse, a_hold):
    notice = a_hold("warn-1", kind="notice")
    assert purse.ledger.once(notice)
    assert not purse.ledger.once(notice)


def test_the_next_attempt_writes_only_what_the_one_before_did_not(purse, a_hold, day):
    account = CallAccount(purse.layout, lambda: 1.0, task="tsk-a", role="researcher", attempt=2)
    for call in ("spd-settled", "spd-open"):
        purse.ledger.hold(a_hold(call, 70), FREE)
    purse.ledger.settle("spd-settled", day, 1.0, Usage(40))
    for call in ("spd-settled", "spd-open", "spd-open"):
        account.book(call, day, Usage(40))
    lines = [msgspec.json.decode(line) for line in purse.layout.spend.read_bytes().splitlines()]
    assert [line["id"] for line in lines if line["kind"] == "settle"] == ["spd-settled", "spd-open"]
    assert purse.ledger.book.days[day].tokens == 80


def test_settling_twice_changes_nothing(purse, a_hold, day):
    ledger = purse.ledger
    ledger.hold(a_hold("spd-1", 70), FREE)
    for _ in range(2):
        ledger.settle("spd-1", day, 1.0, Usage(20, usd=0.5), seconds=0.0)
    assert ledger.refresh().days[day].tokens == 20
    assert [line.count(SETTLE.encode()) for line in [purse.layout.spend.read_bytes()]] == [2]
