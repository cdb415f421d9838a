"""What is kept of an index between processes gives the answers of counting all again, or is not used."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import named, perform
from lumen_tui.cli.main import main
from lumen_tui.model.decay import DecayRule
from lumen_tui.model.records import Receipt, Signal, Touch
from lumen_tui.queries.trail import Trail
from lumen_tui.queries.trail_file import NODES, SIGNALS
from lumen_tui.storage import files, kept
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import node_index
from lumen_tui.store.memory.facts import FactIndex
from lumen_tui.store.memory.node_index import NodeIndex
from lumen_tui.store.signals import signal_index
from lumen_tui.store.signals.signal_index import SignalIndex, kept_path
from tests.actions import random_acts
from tests.actions.conftest import ActionsFolder
from tests.actions.random_acts import Stage

NOW = 1_790_000_000.0
READER = "ana"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(kept.KeptIndex, "LEAST", 1)
    Layout(tmp_path / "state").create()
    return Store(tmp_path / "state")


def facts(layout: Layout) -> tuple[dict[str, Any], list[str]]:
    """Return all that the indexes say, and why what was kept of nodes and signals could not be used."""
    with (
        closing(NodeIndex(layout)) as nodes,
        closing(SignalIndex(layout, READER)) as signals,
        closing(FactIndex(layout)) as claims,
    ):
        claims.refresh()
        for index in (nodes, signals):
            while index.refresh():
                pass
        said = {
            "discoveries": [(row.node.id, row.created) for row in nodes.discoveries(NOW)],
            "counts": nodes.open.counts(NOW),
            "untriaged": nodes.open.untriaged(NOW - 86400, NOW),
            "decay": nodes.decay_view(DecayRule(), NOW),
            "fading": list(nodes.fading(DecayRule(), NOW)),
            "listed": [row for kind in ("archived", "protected") for row in nodes.listing(kind)],
            "signals": [(row.signal.id, row.unread) for row in signals.rows()],
            "unread": signals.unread,
            "urgent": [found.id for found in signals.unread_p0()],
            "facts": sorted(claims.states(), key=lambda state: state.fact.id),
            "problems": nodes.damage.problems() + signals.damage.problems(),
        }
        with Trail(layout) as trail:
            names = [row.node.id for row in nodes.discoveries(NOW)] + [row.signal.id for row in signals.rows()]
            said["named"] = [trail.mentions(source, name) for name in names for source in (NODES, SIGNALS)]
            said["projects"] = [node.id for node in trail.project(100)]
        return said, [index.kept.news for index in (nodes, signals) if index.kept.news]


def counted(layout: Layout) -> dict[str, Any]:
    """Return what the indexes say with nothing kept, and put what was kept back."""
    aside = layout.index.with_name("aside")
    layout.index.rename(aside)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept.KeptIndex, "LEAST", 1 << 60)
        said = facts(layout)[0]
    aside.rename(layout.index)
    return said


def fill(store: Store, count: int = 40) -> None:
    store.signals.append_all(
        Signal(f"sig-{n:05d}", f"m{n}", "2026-11-21T10:00:00Z", priority="P0") for n in range(count)
    )
    store.nodes.append_all(
        {
            "id": f"mem-{n:04d}", "type": "discovery" if n % 3 else "note", "content": "x",
            "created_at": "2026-09-01T00:00:00Z",
        }
        for n in range(count)
    )  # fmt: skip
    store.nodes.append_all(
        {"id": f"mem-f{n}", "content": f"port {n}", "created_at": "2026-09-01T00:00:00Z", "metadata": {"fact": {}}}
        for n in range(3)
    )
    store.receipts.append(Receipt("sig-00005", "2026-11-21T11:00:00Z", reader=READER))


def kept_files(store: Store) -> list[Path]:
    return [store.layout.index / "nodes.columns", kept_path(store.layout, READER)]


def test_spoilt_facts_are_found_again_in_the_journal(store, sampled):
    fill(store)
    right = facts(store.layout)[0]
    path = store.layout.index / "facts.columns"
    whole = path.read_bytes()
    for at in sampled(list(range(len(whole))), 20):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert facts(store.layout)[0] == right, at
        assert path.read_bytes() == whole


def test_whatever_is_done_the_kept_columns_say_what_counting_says(tmp_path, sampled, monkeypatch):
    monkeypatch.setattr(kept.KeptIndex, "LEAST", 1)
    for seed in sampled(list(range(1, 61)), 3):
        (tmp_path / str(seed)).mkdir()
        desk = ActionsFolder(tmp_path / str(seed) / "state")
        desk.store.layout.create()
        stage = Stage(desk, tmp_path / str(seed), seed)
        last: tuple[str, dict[str, Any]] = ("", {})
        for _ in range(40):
            last = random_acts.next_act(stage, *last)
            try:
                desk.do(last[0], **last[1])
                if stage.chance.random() < 0.2:
                    perform(desk.store, named("undo", {}), by="ana", now=desk.now)
            except (ActionError, StoreError):
                continue
            if stage.chance.random() < 0.5:
                assert facts(desk.layout)[0] == counted(desk.layout), (seed, last)


@pytest.mark.parametrize("seed", range(6))
def test_any_lines_in_any_order_with_damage_and_rewrites(store, seed):
    chance = random.Random(seed)  # noqa: S311 - a test that can be repeated
    offsets: dict[str, int] = {}
    for step in range(150):
        roll = chance.random()
        if roll < 0.45 or not offsets:
            found = Signal(
                f"sig-{step:05d}", "m", "2026-11-21T10:00:00Z", priority=chance.choice(["P0", "P2"]),
                read=chance.random() < 0.1,
            )  # fmt: skip
            offsets[found.id] = store.signals.append(found)
        elif roll < 0.65:
            name = chance.choice(list(offsets))
            store.receipts.append(
                Receipt(
                    name, "2026-11-21T11:00:00Z", reader=chance.choice([READER, "bob", "*"]),
                    upto=chance.random() < 0.3, offset=chance.choice([-1, offsets[name], 7]),
                )
            )  # fmt: skip
        elif roll < 0.85:
            status = chance.choice(["", "open", "archived", "promoted"])
            metadata = {"status": status, "priority": chance.choice(["P0", "P1", ""]), "pinned": chance.random() < 0.2}
            if chance.random() < 0.2:
                metadata["fact"] = {"class": "steady", "supersedes": f"mem-{chance.randrange(30)}"}
            if chance.random() < 0.2:
                metadata["snoozed_until"] = "2027-01-01T00:00:00Z"
            store.nodes.append(
                {
                    "id": f"mem-{chance.randrange(30)}", "type": chance.choice(["note", "discovery"]), "content": "x",
                    "created_at": "2026-09-01T00:00:00Z", "metadata": metadata,
                }
            )  # fmt: skip
        elif roll < 0.93:
            store.touches.append(Touch(f"mem-{chance.randrange(40)}", "2026-09-15T00:00:00Z"))
        elif roll < 0.96:
            files.append(chance.choice([store.layout.signals, store.layout.memory]), b'{"id": broken\n')
        elif roll < 0.98:
            store.nodes.rewrite(lambda lines: [line for line in lines if b'mem-3"' not in line])
        else:
            store.signals.rewrite(lambda lines: [line for line in lines if b"0007" not in line])
        if chance.random() < 0.3:
            assert facts(store.layout)[0] == counted(store.layout)
    facts(store.layout)
    assert facts(store.layout) == (counted(store.layout), [])


def test_the_second_process_reads_nothing_of_the_journals_but_what_is_new(store, monkeypatch):
    fill(store)
    before = facts(store.layout)[0]
    assert len(before["facts"]) == 3
    monkeypatch.setattr(node_index, "_read", lambda line: pytest.fail("a node was decoded"))
    monkeypatch.setattr(signal_index, "_slim", None)
    assert facts(store.layout) == (before, [])


def test_each_spoilt_byte_is_noticed_said_and_mended(store, sampled):
    fill(store)
    right = facts(store.layout)[0]
    for path in kept_files(store):
        whole = path.read_bytes()
        for at in sampled(list(range(len(whole))), 40):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            said, news = facts(store.layout)
            assert said == right, at
            assert len(news) == 1 and path.name in news[0] and "made again" in news[0]
        for at in sampled(list(range(len(whole))), 20):
            path.write_bytes(whole[:at])
            assert facts(store.layout)[0] == right, at
        assert facts(store.layout) == (right, [])


def test_another_version_or_another_readers_columns_are_made_again(store, monkeypatch):
    fill(store)
    right = facts(store.layout)[0]
    monkeypatch.setattr(node_index, "_VERSION", 99)
    assert facts(store.layout) == (right, ["index/nodes.columns was made by another version: it is made again"])
    assert facts(store.layout) == (right, [])
    with closing(SignalIndex(store.layout, "bob")) as other:
        other.refresh()
    kept_path(store.layout, "bob").replace(kept_path(store.layout, READER))
    said, news = facts(store.layout)
    assert said == right and len(news) == 1


def test_a_line_changed_in_place_is_seen_though_the_journal_is_as_long_as_before(store):
    fill(store, 300)  # of more than the two ends that are hashed
    facts(store.layout)
    data = store.layout.memory.read_bytes()
    changed = data.replace(b'"id":"mem-0151","type":"discovery"', b'"type":"discovery","id":"mem-9999"')
    assert changed != data and len(changed) == len(data)
    time.sleep(0.02)  # a clock tick of the file system later
    with open(store.layout.memory, "r+b") as journal:
        journal.write(changed)
    said, news = facts(store.layout)
    assert said == counted(store.layout)
    assert "mem-9999" in [name for name, _ in said["discoveries"]]
    assert len(news) == 1


def test_a_journal_that_was_cut_or_is_gone_is_counted_again(store):
    fill(store)
    facts(store.layout)
    os.truncate(store.layout.signals, 100)
    store.layout.memory.unlink()
    assert facts(store.layout)[0] == counted(store.layout)
    fill(store, 3)
    assert facts(store.layout)[0] == counted(store.layout)


def test_where_nothing_can_be_kept_all_is_counted(store):
    fill(store)
    store.layout.index.rmdir()
    store.layout.index.write_text("no folder")
    said, _ = facts(store.layout)
    assert said["unread"] == 39
    assert not any(path.name.endswith(".tmp") for path in store.root.iterdir())


def test_columns_of_few_readers_are_kept(store):
    fill(store)
    for number in range(12):
        with closing(SignalIndex(store.layout, f"agent-{number}")) as index:
            index.refresh()
    assert len(list(store.layout.index.glob("signals-*.columns"))) == 8
    assert kept_path(store.layout, "agent-11").exists()


def test_readers_beside_writers_that_are_killed_see_what_counting_sees(store):
    fill(store, 200)
    right = counted(store.layout)
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_keep_again, args=(store,), daemon=True) for _ in range(3)]
    for writer in writers:
        writer.start()
    try:
        for number in range(12):
            assert facts(store.layout)[0] == right
            time.sleep(random.Random(number).uniform(0, 0.01))  # noqa: S311 - a moment
            if number in (3, 6):
                writers[number // 3 - 1].kill()
    finally:
        for writer in writers:
            writer.kill()
            writer.join()
    assert facts(store.layout)[0] == right


def _keep_again(store: Store) -> None:
    """Keep the columns again and again, until killed."""
    while True:
        for path in kept_files(store):
            path.unlink(missing_ok=True)
        facts(store.layout)


def test_a_command_says_that_it_made_columns_again_and_the_doctor_names_spoilt_ones(store, capsys):
    fill(store)
    words = ["--state", str(store.root), "--operator", READER]
    assert main([*words, "status"]) == 0 and capsys.readouterr().err == ""
    nodes, signals = kept_files(store)
    for path in (nodes, signals):
        path.write_bytes(path.read_bytes()[:-3])
    assert main([*words, "doctor"]) == 1
    found = capsys.readouterr().out
    assert f"index/{nodes.name}" in found and f"index/{signals.name}" in found
    assert main([*words, "status"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said == [f"lumen-tui: index/{path.name} is damaged: it is made again" for path in (signals, nodes)]
    nodes.write_bytes(b"spoilt")
    assert main([*words, "doctor", "--fix"]) == 0 and not nodes.exists()
