"""How often what somebody noticed or proposed was right, over time."""

from __future__ import annotations

import json

from lumen_tui.model import times
from lumen_tui.model.records import Node
from lumen_tui.storage.store import Store

AGENT = {"created_by": "lumen", "tags": ("proposal", "role")}


def noticed(store: Store, name: str, **more) -> str:
    facts = {"created_at": times.iso(1.7e9), "metadata": {"status": "open", "priority": "P2"}}
    node = Node(id=f"mem-{name}", type="discovery", content=name, **facts, **more)
    store.nodes.append(node)
    return node.id


def judged(shell, *words: str) -> list[dict]:
    return json.loads(shell("triage", "--judged", "--json", *words).stdout)


def test_each_author_is_told_by_what_became_of_it(shell) -> None:
    store = Store(shell.root)
    assert shell("triage", "--judged").returncode == 3
    ids = [noticed(store, f"idea{number}", **AGENT) for number in range(5)]
    noticed(store, "open", **AGENT)
    found = noticed(store, "bug", created_by="ann")
    shell("triage", "--promote", *ids[:2], "--lane", "Core")
    shell("triage", "--archive", ids[2], "-r", "no")
    shell("triage", "--merge", ids[3], "--into", ids[4])
    shell("triage", "--archive", found, "-r", "not so")
    ann, agent = judged(shell)
    assert (ann["name"], ann["judged"], ann["promoted"], ann["share"]) == ("discoveries of ann", 1, 0, 0.0)
    assert agent["name"] == "proposals of lumen"
    assert [agent[name] for name in ("judged", "promoted", "archived", "merged")] == [4, 2, 1, 1]
    assert agent["share"] == 2 / 3
    assert agent["weeks"][-1] == {"done": 2, "tried": 3}
    shown = shell("triage", "--judged").stdout
    assert "67 %" in shown
    shell("undo")
    assert [one["name"] for one in judged(shell)] == ["proposals of lumen"], "what was taken back was not judged"
