"""What makes a million rows cheap: offsets, orders and ids in columns, and a search that makes few rows."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumen_tui.storage import files
from lumen_tui.storage.lazy_rows import LazyRows
from lumen_tui.storage.line_access import Offsets, SortedRows
from lumen_tui.storage.store import Store
from lumen_tui.store.memory.node_rows import IdNumbers
from lumen_tui.store.signals.signal_index import SignalIndex


@given(st.lists(st.integers(1, 2**33), max_size=60))
def test_offsets_of_any_distance_are_kept(steps: list[int]) -> None:
    offsets, plain, at = Offsets(), [], 0
    for step in steps:
        at += step
        offsets.append(at)
        plain.append(at)
    assert [offsets[place] for place in range(len(offsets))] == plain


def test_ids_are_numbered_in_the_order_in_which_they_came() -> None:
    numbers, plain = IdNumbers(), {}
    dice = random.Random(3)  # noqa: S311 - chance, not secrecy
    for _ in range(20_000):
        name = f"mem-{dice.randrange(9000):05d}"
        assert numbers.get(name) == plain.get(name)
        assert numbers.give(name) == plain.setdefault(name, len(plain))
    assert numbers.get("mem-unknown") is None
    assert {name: numbers.get(name) for name in plain} == plain


def test_an_order_filled_at_once_is_the_one_made_step_by_step() -> None:
    dice = random.Random(4)  # noqa: S311 - chance, not secrecy
    keys = [float(dice.randrange(50)) for _ in range(300)]
    filled, grown = SortedRows(), SortedRows()
    filled.fill(list(range(300)), keys.__getitem__)
    for row, key in enumerate(keys):
        grown.add(key, row)
    assert list(filled.keys) == list(grown.keys) == sorted(keys)
    assert list(filled.rows) == list(grown.rows)
    grown.remove(keys[7], 7)
    assert 7 not in grown.rows


class Squares(LazyRows[int]):
    def __len__(self) -> int:
        return 5

    def at(self, place: int) -> int:
        return place * place


def test_lazy_rows_are_a_sequence() -> None:
    rows = Squares()
    assert list(rows) == rows[:] == [0, 1, 4, 9, 16]
    assert (rows[-1], rows[1:3], rows[::-2]) == (16, [1, 4], [16, 4, 0])
    for wrong in (5, -6):
        with pytest.raises(IndexError):
            rows[wrong]


@pytest.fixture
def rows(tmp_path):
    store = Store(tmp_path / "state")
    store.layout.create()
    lines = [
        b'{"id":"sig-1","message":"Build DONE \\"ok\\"","created_at":"","sender":"ana","lane":"Core"}',
        b"damaged done line",
        b'{"id":"sig-2","message":"caf\\u00e9 done","created_at":"","wu_id":"WU-7"}',
        b'{"id":"sig-3","message":"still at it","created_at":"","sender":"bo"}',
        '{"id":"sig-4","message":"ganz fertig, done straße","created_at":""}'.encode(),
    ]
    files.append(store.layout.signals, b"\n".join(lines) + b"\n")
    index = SignalIndex(store.layout, "ana")
    while index.refresh():
        pass
    files.append(store.layout.signals, b'{"id":"sig-5","message":"later: done","created_at":""}\n')
    return index.rows()


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["done"], ["sig-4", "sig-2", "sig-1"]),
        (["done", "wu-7"], ["sig-2"]),
        (["done", "café"], ["sig-4", "sig-2", "sig-1"]),
        (["straße"], ["sig-4", "sig-3", "sig-2", "sig-1"]),
        (['"ok"'], ["sig-4", "sig-3", "sig-2", "sig-1"]),
        (["system"], ["sig-4", "sig-3", "sig-2", "sig-1"]),
        (["nothing of this"], []),
    ],
)
def test_a_search_leaves_out_only_what_cannot_fit(rows, words: list[str], ids: list[str]) -> None:
    """Words that a record may write in another way, or leave out, narrow nothing."""
    size = len(rows)
    found = [rows[place].signal.id for place in rows.having(words, 0, size)]
    assert found == ids
    by_two = [place for start in range(0, size, 2) for place in rows.having(words, start, min(size, start + 2))]
    assert [rows[place].signal.id for place in by_two] == ids
