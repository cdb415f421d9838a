"""The signal index against the plainest possible reading of the same files."""

from __future__ import annotations

import json
import random
from pathlib import Path

import msgspec
import pytest

from lumen_tui.model.records import Receipt, Signal
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.signals.signal_index import SignalIndex

READER = "ada"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    Layout(tmp_path / "state").create()
    return Store(tmp_path / "state")


def signal(number: int, **fields: object) -> Signal:
    return Signal(id=f"sig-{number:05d}", message=f"m{number}", created_at="2026-11-21T10:00:00Z", **fields)


def load(index: SignalIndex) -> SignalIndex:
    while index.refresh():
        pass
    return index


def fresh(store: Store) -> SignalIndex:
    return load(SignalIndex(store.layout, READER))


def unread_by_reading_everything(store: Store) -> list[str]:
    signals = [json.loads(line) for line in store.signals.lines()]
    order = [record["id"] for record in signals]
    seen = {record["id"] for record in signals if record.get("read")}
    for line in store.receipts.lines():
        receipt = json.loads(line)
        if receipt.get("reader", "*") not in (READER, "*") or receipt["signal_id"] not in order:
            continue
        last = order.index(receipt["signal_id"])
        seen |= set(order[: last + 1]) if receipt.get("upto") else {receipt["signal_id"]}
    return [name for name in order if name not in seen]


def unread(index: SignalIndex) -> list[str]:
    return [row.signal.id for row in reversed(index.rows()) if row.unread]


def test_the_newest_signal_comes_first_and_rows_are_read_when_asked_for(store):
    store.signals.append_all(signal(n) for n in range(50))
    rows = fresh(store).rows()
    assert (len(rows), rows[0].signal.id, rows[-1].signal.id) == (50, "sig-00049", "sig-00000")
    assert [row.signal.id for row in rows[:2]] == ["sig-00049", "sig-00048"]
    with pytest.raises(IndexError):
        rows[50]


@pytest.mark.parametrize("seed", range(12))
def test_unread_agrees_with_reading_everything_in_any_order_of_events(store, seed):
    chance = random.Random(seed)  # noqa: S311 - a test that can be repeated
    live = SignalIndex(store.layout, READER)
    offsets: dict[str, int] = {}
    for step in range(60):
        if chance.random() < 0.6 or not offsets:
            record = signal(step, read=chance.random() < 0.1)
            offsets[record.id] = store.signals.append(record)
        else:
            name = chance.choice(list(offsets))
            store.receipts.append(
                Receipt(
                    name, "2026-11-21T11:00:00Z", reader=chance.choice([READER, "bob", "*"]),
                    upto=chance.random() < 0.3, offset=chance.choice([-1, offsets[name], 7]),
                )
            )  # fmt: skip
        if chance.random() < 0.4:
            load(live)
            assert unread(live) == unread_by_reading_everything(store)
    assert unread(load(live)) == unread(fresh(store)) == unread_by_reading_everything(store)
    assert live.unread == len(unread(live))


def test_another_readers_receipt_hides_nothing(store):
    store.signals.append(signal(1))
    store.receipts.append(Receipt("sig-00001", "2026-11-21T11:00:00Z", reader="bob"))
    assert unread(fresh(store)) == ["sig-00001"]


def test_a_damaged_line_hides_only_itself_and_is_named(store):
    store.signals.append(signal(1))
    files.append(store.layout.signals, b'{"id": broken\n\n[1, 2]\n\xff\xfe\n')
    store.signals.append(signal(2))
    index = fresh(store)
    assert [row.signal.id for row in index.rows()] == ["sig-00002", "sig-00001"]
    problem = index.damage.problems()[0]
    assert "3 damaged lines" in problem.what
    assert problem.where == "memory/signals.jsonl"


def test_a_receipt_that_cannot_be_read_hides_nothing(store):
    store.signals.append(signal(1))
    files.append(store.layout.receipts, b'{"signal_id": 7}\n"x"\n')
    store.receipts.append(Receipt("sig-00001", "2026-11-21T11:00:00Z", reader=READER))
    assert fresh(store).unread == 0


def test_a_rewrite_keeps_what_was_read_and_an_older_picture_stays_readable(store):
    store.signals.append_all(signal(n) for n in range(10))
    store.receipts.append(Receipt("sig-00005", "2026-11-21T11:00:00Z", reader=READER, upto=True))
    index = fresh(store)
    before = index.rows()
    store.signals.rewrite(lambda lines: [line for line in lines if b"sig-00003" not in line])
    load(index)
    assert len(index.rows()) == 9
    assert unread(index) == [f"sig-{n:05d}" for n in range(6, 10)]
    assert before[9].signal.id == "sig-00000"


def test_fields_of_wrong_types_do_not_hide_a_signal(store):
    files.append(store.layout.signals, b'{"id":"sig-00001","message":"x","created_at":"","lane":7,"wu_id":null}\n')
    row = fresh(store).rows()[0]
    assert (row.signal.id, row.signal.message) == ("sig-00001", "x")


def test_hostile_text_is_made_visible(store):
    store.signals.append(signal(1, sender="\x1b]52;c;x\x07", lane="\u202e"))
    found = fresh(store).rows()[0].signal
    assert not any(ord(c) < 32 or c == "\u202e" for c in found.sender + found.lane)


def test_unread_p0_signals_are_found_newest_first(store):
    store.signals.append_all(signal(n, priority="P0" if n % 2 else "P1") for n in range(6))
    store.receipts.append(Receipt("sig-00003", "2026-11-21T11:00:00Z", reader=READER))
    assert [found.id for found in fresh(store).unread_p0()] == ["sig-00005", "sig-00001"]


def test_following_reads_only_what_is_new(store, monkeypatch):
    store.signals.append_all(signal(n) for n in range(500))
    index = fresh(store)
    read: list[int] = []
    original = index._signals._read

    def counted(fd: int, limit: int) -> tuple[int, bytes]:
        offset, data = original(fd, limit)
        read.append(len(data))
        return offset, data

    monkeypatch.setattr(index._signals, "_read", counted)
    line = msgspec.json.encode(signal(500))
    store.signals.append(signal(500))
    load(index)
    assert sum(read) == len(line) + 1


@pytest.mark.parametrize("left", [[], [("sig-00000", "bob")], [("sig-00004", READER)]])
@pytest.mark.parametrize("upto", [False, True])
def test_what_was_marked_read_is_unread_again_where_the_receipt_is_taken_back(store, left, upto):
    store.signals.append_all([signal(0, read=True), *(signal(n) for n in range(1, 6))])
    store.receipts.append_all([receipt("sig-00003", READER, upto=upto)])
    index = fresh(store)
    files.replace(
        store.layout.receipts, b"".join(msgspec.json.encode(receipt(name, reader)) + b"\n" for name, reader in left)
    )
    assert unread(load(index)) == unread_by_reading_everything(store) == unread(fresh(store))
    store.receipts.append_all([receipt("sig-00005", READER)])
    assert unread(load(index)) == unread_by_reading_everything(store)


def receipt(signal_id: str, reader: str, *, upto: bool = False) -> Receipt:
    return Receipt(signal_id=signal_id, read_at="2026-11-21T10:00:00Z", reader=reader, upto=upto)
