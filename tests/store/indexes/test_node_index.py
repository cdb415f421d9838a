"""The node index against the plainest possible reading of the same files."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from lumen_tui.model import decay, times
from lumen_tui.model.decay import DecayRule
from lumen_tui.model.records import Touch
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.memory.node_index import NodeIndex

NOW = 1_790_000_000.0
RULE = DecayRule()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    Layout(tmp_path / "state").create()
    return Store(tmp_path / "state")


def add(store: Store, number: int, kind: str = "discovery", age_days: float = 1.0, **metadata: object) -> None:
    record = {
        "id": f"mem-{number:04d}", "type": kind, "content": f"node {number}\nmore", "metadata": metadata,
        "created_at": times.iso(NOW - age_days * times.DAY), "later_field": {"kept": True},
    }  # fmt: skip
    store.nodes.append(record)


def load(index: NodeIndex) -> NodeIndex:
    while index.refresh():
        pass
    return index


def fresh(store: Store) -> NodeIndex:
    return load(NodeIndex(store.layout))


def open_ids(index: NodeIndex, now: float = NOW) -> list[str]:
    return [row.node.id for row in index.discoveries(now)]


def test_open_discoveries_stand_by_priority_then_oldest_first(store):
    add(store, 1, age_days=1, priority="P2")
    add(store, 2, age_days=9, priority="P2")
    add(store, 3, age_days=1, priority="P0")
    add(store, 4, age_days=50)
    add(store, 5, kind="note")
    index = fresh(store)
    assert open_ids(index) == ["mem-0003", "mem-0002", "mem-0001", "mem-0004"]
    assert index.open.counts(NOW) == {"P0": 1, "P2": 2, "-": 1}


def test_the_last_line_of_an_id_wins(store):
    add(store, 1, priority="P1")
    index = fresh(store)
    add(store, 1, priority="P1", status="archived")
    load(index)
    assert open_ids(index) == []
    assert index.decay_view(RULE, NOW).archived == 1
    add(store, 1, priority="P0", status="open")
    load(index)
    assert open_ids(index) == ["mem-0001"]
    assert len(index) == 1


def test_what_was_put_off_comes_back_by_itself(store):
    add(store, 1, priority="P1", snoozed_until=times.iso(NOW + times.DAY))
    index = fresh(store)
    assert open_ids(index) == []
    assert index.open.counts(NOW) == {}
    assert open_ids(index, NOW + 2 * times.DAY) == ["mem-0001"]


def test_a_touch_makes_a_node_young_again_in_whatever_order_it_is_read(store):
    add(store, 1, kind="note", age_days=80)
    store.touches.append(Touch("mem-0002", times.iso(NOW - times.DAY)))
    store.touches.append(Touch("mem-0001", times.iso(NOW)))
    add(store, 2, kind="note", age_days=70)
    index = fresh(store)
    assert [round(row.score, 3) for row in index.fading(RULE, NOW)] == [0.977, 1.0]


def test_an_untouched_default_node_is_due_at_99_66_days(store):
    add(store, 1, kind="note", age_days=99.65)
    add(store, 2, kind="note", age_days=99.67)
    view = fresh(store).decay_view(RULE, NOW)
    assert (view.due, view.within_week) == (1, 1)


@pytest.mark.parametrize("seed", range(8))
def test_counts_and_histogram_agree_with_counting_one_by_one(store, seed):
    chance = random.Random(seed)  # noqa: S311 - a test that can be repeated
    index = NodeIndex(store.layout)
    for _ in range(120):
        add(
            store, chance.randrange(40), kind=chance.choice(["note", "discovery", "summary", "checkpoint"]),
            age_days=chance.uniform(0, 130), priority=chance.choice(["P0", "P3", ""]),
            status=chance.choice(["", "open", "archived", "promoted"]), pinned=chance.random() < 0.1,
        )  # fmt: skip
        if chance.random() < 0.2:
            store.touches.append(
                Touch(f"mem-{chance.randrange(40):04d}", times.iso(NOW - chance.uniform(0, 9) * 86400))
            )
        if chance.random() < 0.3:
            load(index)
    load(index)
    again = fresh(store)
    for found in (index, again):
        rows = [row for row in found._rows if row.status == 0]
        free = [row for row in rows if not row.protected]
        bins = [0] * decay.BINS
        for row in free:
            share = (1.0 - decay.score(NOW - row.touched, RULE)) / (1.0 - RULE.threshold)
            bins[min(decay.BINS - 1, max(0, int(share * decay.BINS)))] += 1
        view = found.decay_view(RULE, NOW)
        assert view.histogram == tuple(bins)
        assert (view.active, view.protected) == (len(rows), len(rows) - len(free))
        assert [row.fades_at for row in found.fading(RULE, NOW)] == sorted(
            decay.fades_at(row.touched, RULE) for row in free
        )
    assert open_ids(index) == open_ids(again)


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"mem-0009","type":7,"content":null,"created_at":3,"metadata":"x","tags":{"a":1}}',
        b'{"id":"mem-0009","type":"discovery","content":"c","created_at":"yesterday","metadata":{"status":5}}',
        b'{"id":"mem-0009","type":"note","content":"c","created_at":"2026-01-01T00:00:00Z","metadata":null}',
    ],
)
def test_a_record_of_another_shape_is_shown_as_well_as_can_be(store, line):
    add(store, 1)
    files.append(store.layout.memory, line + b"\n")
    index = fresh(store)
    assert len(index) == 2
    assert not index.damage.problems()


def test_damaged_lines_hide_only_themselves(store):
    add(store, 1)
    files.append(store.layout.memory, b'{"id":"mem-00\n' + b"\x00" * 40 + b"\n" + b"[" * 5000 + b"\n")
    add(store, 2)
    index = fresh(store)
    assert len(index) == 2
    assert "3 damaged lines" in index.damage.problems()[0].what


def test_hostile_text_in_every_field_is_made_visible(store):
    bad = "\x1b]0;owned\x07\u202e[@click=app.quit]x[/]"
    record = {"id": "mem-0001", "type": "discovery", "content": bad, "created_at": times.iso(NOW), "tags": [bad]}
    store.nodes.append({**record, "metadata": {bad: bad}, "wu_id": bad})
    node = fresh(store).discoveries(NOW)[0].node
    shown = json.dumps([node.content, node.tags, node.metadata, node.wu_id], ensure_ascii=False)
    assert "\\u001b" not in shown and "\u202e" not in shown
    assert "[@click=app.quit]" in node.content


def test_rows_of_the_same_moment_keep_the_order_in_which_they_came(store):
    index = fresh(store)
    for number in (1, 2, 3):
        add(store, number, priority="P1", age_days=4)
        load(index)
    assert open_ids(index) == open_ids(fresh(store)) == ["mem-0001", "mem-0002", "mem-0003"]
