"""A reader's place in a journal outlives restarts, rewrites, and the loss of the very line it stood behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from lumen_tui.model.records import Signal
from lumen_tui.storage import journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    Layout(tmp_path / "state").create()
    return Store(tmp_path / "state")


def send(store: Store, *numbers: int) -> None:
    store.signals.append_all(
        Signal(id=f"sig-{n:04d}", message="m", created_at=f"2026-11-21T10:{n:02d}:00.000Z") for n in numbers
    )


def read(store: Store, place: dict) -> tuple[list[str], dict]:
    lines, after = journal.lines_after(store.layout.signals, place)
    return [line.partition(b'"id":"')[2][:8].decode() for _, line in lines], after


def test_only_what_is_new_is_read(store):
    send(store, 1, 2)
    found, place = read(store, {})
    assert found == ["sig-0001", "sig-0002"]
    send(store, 3)
    found, place = read(store, place)
    assert found == ["sig-0003"]
    assert read(store, place)[0] == []


def test_a_rewrite_that_keeps_the_last_line_loses_and_repeats_nothing(store):
    send(store, 1, 2, 3)
    _, place = read(store, {})
    send(store, 4)
    store.signals.rewrite(lambda lines: [line for line in lines if b"sig-0001" not in line])
    assert read(store, place)[0] == ["sig-0004"]


def test_a_rewrite_that_removes_the_last_line_is_found_again_by_its_date(store):
    send(store, 1, 2, 3)
    _, place = read(store, {})
    send(store, 4, 5)
    store.signals.rewrite(lambda lines: [line for line in lines if b"sig-0003" not in line])
    found, place = read(store, place)
    assert found == ["sig-0004", "sig-0005"]


def test_a_line_cut_inside_a_character_is_found_again(store):
    for number in (1, 2):
        message = "é" * 150 + "ü" * number
        store.signals.append(Signal(id=f"sig-000{number}", message=message, created_at="2026-11-21T10:00:00.000Z"))
        store.signals.append(Signal(id=f"sig-100{number}", message="x" + message, created_at="2026-11-21T09:00:00Z"))
    _, place = read(store, {})
    send(store, 4)
    store.signals.rewrite(list)
    assert read(store, place)[0] == ["sig-0004"]


def test_the_last_line_is_found_behind_a_clock_that_was_set_back_and_far_from_the_end(store):
    send(store, 50)
    _, place = read(store, {})
    send(store, *[1, 2, 3] * 400)
    store.signals.rewrite(list)
    assert len(read(store, place)[0]) == 1200


def test_everything_older_removed_leaves_the_new_ones_to_be_read(store):
    send(store, 1, 2)
    _, place = read(store, {})
    send(store, 3)
    store.signals.rewrite(lambda lines: [line for line in lines if b"sig-0003" in line])
    assert read(store, place)[0] == ["sig-0003"]


def test_a_journal_that_is_not_there_yet(store):
    assert read(store, {}) == ([], {})


def test_the_first_look_at_a_long_journal_is_bounded_and_begins_at_a_whole_line(store, monkeypatch):
    monkeypatch.setattr(journal, "_FIRST", 300)
    send(store, *range(1, 40))
    found, place = read(store, {})
    assert 1 < len(found) < 6
    assert found[-1] == "sig-0039"
    assert read(store, place)[0] == []
