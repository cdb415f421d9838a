"""Near doubles that are kept are those that comparing all titles again finds."""

from __future__ import annotations

import random
from contextlib import closing

import pytest

from lumen_tui.engine import likeness, near_doubles
from lumen_tui.engine.likeness import Titles
from lumen_tui.engine.near_doubles import NearDoubles
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.memory.node_index import NodeIndex

NOW = 1_790_000_000.0
WORDS = ["retry", "cache", "lock", "parser", "timeout", "socket", "on", "of", "the", "in", "every", "second", "third"]
Like = dict[str, tuple[str, int]]


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    monkeypatch.setattr(near_doubles, "LEAST", 1)
    Layout(tmp_path / "state").create()
    return Store(tmp_path / "state")


def note(store: Store, number: int, title: str, **metadata: str) -> None:
    store.nodes.append(
        {
            "id": f"mem-{number:04d}", "type": "discovery", "content": title,
            "created_at": f"2026-09-01T00:{number % 60:02d}:00Z", "metadata": metadata,
        }
    )  # fmt: skip


def both(store: Store, chosen: slice) -> tuple[Like, Like, str]:
    """Return the near doubles of some rows with the help of what is kept, and by comparing all; and what was said."""
    with closing(NodeIndex(store.layout)) as index:
        while index.refresh():
            pass
        every = index.discoveries(NOW)
        if not every:
            return {}, {}, ""
        numbers = list(range(len(every)))[chosen]
        doubles = NearDoubles(store.layout, index, every)
        titles = Titles()
        fresh = {every[number].node.id: titles.nearest(every[number].node.id, every, 1) for number in numbers}
        return doubles.of(numbers), {name: like for name, like in fresh.items() if like}, doubles.news


@pytest.mark.parametrize("seed", range(4))
def test_whatever_comes_and_goes_the_near_doubles_are_those_of_comparing_all(store, seed):
    chance = random.Random(seed)  # noqa: S311 - a test that can be repeated
    for step in range(120):
        roll = chance.random()
        title = " ".join(chance.choices(WORDS, k=chance.randrange(0, 6)))
        number = chance.randrange(step + 1)
        if roll < 0.7:
            note(store, step, title, priority=chance.choice(["P0", "P1", ""]))
        elif roll < 0.85:
            note(store, number, title, status="archived")
        elif roll < 0.95:
            note(store, number, title, snoozed_until=chance.choice(["2026-09-02T00:00:00Z", "2027-09-02T00:00:00Z"]))
        else:
            store.nodes.rewrite(lambda lines, number=number: [line for line in lines if b"%04d" % number not in line])
        if chance.random() < 0.4:
            kept, fresh, news = both(store, slice(chance.randrange(9), chance.randrange(9, 60)))
            assert (kept, news) == (fresh, ""), (seed, step)


def test_a_list_that_did_not_change_is_compared_once(store, monkeypatch):
    for number in range(20):
        note(store, number, f"the cache is slow on page {number % 7}")
    first = both(store, slice(None))
    note(store, 99, "a note beside them", status="archived")
    monkeypatch.setattr(likeness, "nearest_title", lambda *_, **__: pytest.fail("titles were compared"))
    with closing(NodeIndex(store.layout)) as index:
        while index.refresh():
            pass
        every = index.discoveries(NOW)
        assert every
        assert NearDoubles(store.layout, index, every).of(range(20)) == first[0] != {}


def test_spoilt_near_doubles_are_found_again_and_said(store, sampled):
    for number in range(8):
        note(store, number, f"the cache is slow on page {number % 3}")
    right = both(store, slice(None))[0]
    path = store.layout.index / "likeness.columns"
    whole = path.read_bytes()
    for at in sampled(list(range(len(whole))), 20):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        kept, fresh, news = both(store, slice(None))
        assert kept == fresh == right
        assert news == "index/likeness.columns is damaged: it is made again"
    assert both(store, slice(None)) == (right, right, "")
