"""Old discoveries ask for triage: one item, however many, each week anew."""

from __future__ import annotations

import json
import os
from pathlib import Path

from lumen_program import lumen

from lumen_tui.actions.registry import named, perform
from lumen_tui.model.attention import until_tomorrow
from lumen_tui.model.times import DAY, iso
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.store import Store

NOW = 1_790_000_000.0


def made(store: Store, days: float, title: str, **more: object) -> str:
    arguments = {"content": title, "type": "bug", **more}
    return perform(store, named("node.create", arguments), by="ana", now=NOW - days * DAY).target


def nudges(root: Path, now: float = NOW) -> list[str]:
    return [one.text for one in SnapshotReader(root).snapshot(now).attention if one.need == "triage"]


def test_what_waits_for_more_than_a_week_asks_once_for_all(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.layout.create()
    assert nudges(tmp_path) == []
    made(store, 6.9, "young")
    assert nudges(tmp_path) == []
    old = made(store, 120, "old", priority="P3")
    assert nudges(tmp_path) == ["1 discovery waits for triage, the oldest for 120 d"]
    made(store, 8, "second", priority="P1")
    assert nudges(tmp_path) == ["2 discoveries wait for triage, the oldest for 120 d"]
    perform(store, named("triage.keep", {"node_ids": old, "days": 7.0}), by="ana", now=NOW)
    assert nudges(tmp_path) == ["1 discovery waits for triage, the oldest for 8 d"], "what was put off is not counted"


def test_put_aside_it_is_silent_for_its_week_and_a_setting_ends_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.layout.create()
    made(store, 120, "old")
    (need,) = [one for one in SnapshotReader(tmp_path).snapshot(NOW).attention if one.need == "triage"]
    perform(store, named("attention.dismiss", {"targets": [need.target]}), by="ana", now=NOW)
    assert nudges(tmp_path) == []
    assert len(nudges(tmp_path, NOW + 7 * DAY)) == 1
    assert until_tomorrow(need.target, iso(NOW)[:10])
    (tmp_path / "lumen.toml").write_text("[memory]\ntriage_days = 0\n")
    assert nudges(tmp_path, NOW + 7 * DAY) == []


def test_status_counts_it(tmp_path: Path) -> None:
    store = Store(tmp_path / "state")
    store.layout.create()
    made(store, 5000, "very old")
    ran = lumen(["--state", str(store.root), "attention", "list", "--json"], env=dict(os.environ), cwd=tmp_path)
    assert [one["need"] for one in json.loads(ran.stdout)["attention"]] == ["triage"]
