"""Journals that have grown long: what the room follows of them is read in pieces."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

from lumen_tui.queries.snapshot_reader import ChangedTasks
from lumen_tui.storage.layout import Layout
from lumen_tui.store.audit.dismissals import Dismissals

MEGABYTE = 1 << 20


def _action(number: int, verb: str = "node.edit", target: str = "mem-1", **more: object) -> str:
    head = {"id": f"act-{number}", "at": "2026-01-01T00:00:00Z", "by": "ana", "verb": verb, "target": target}
    return json.dumps({**head, "summary": "x", **more}) + "\n"


def test_a_long_history_costs_no_room_and_loses_nothing(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.create()
    changes = [{"kind": "node", "key": "mem-1", "before": {"content": "x" * 4000}, "after": {"content": "y" * 4000}}]
    with layout.actions.open("w") as out:
        out.write(_action(0, "attention.dismiss", "first") + _action(1, "attention.dismiss", "second"))
        out.writelines(_action(number, changes=changes) for number in range(2, 1000))
        out.write(_action(1000, "undo", "second", undoes="act-1") + _action(1001, "attention.dismiss", "last"))
    assert layout.actions.stat().st_size > 7 * MEGABYTE
    aside, news = Dismissals(layout), ChangedTasks(layout)
    tracemalloc.start()
    try:
        assert aside.refresh() and news.names(100.0) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert aside.targets() == {"first", "last"}
    assert peak < 4 * MEGABYTE
    with layout.actions.open("a") as out:
        out.write(json.dumps({"target": "tsk-1"}, separators=(",", ":")) + "\n")
    assert news.names(101.0) == {"tsk-1"}
