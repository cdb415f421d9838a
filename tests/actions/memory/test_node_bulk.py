"""Many nodes changed at once, while others append: nobody waits, and nothing that came meanwhile is written over."""

from __future__ import annotations

import fcntl
import os

import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.storage import files
from lumen_tui.storage.journal import encode
from lumen_tui.store.memory import node_bulk, nodes

MANY = node_bulk.FEW + 20


def free(path) -> bool:
    """Whether an append could begin at once."""
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def mark(seen: list[bool], desk, meanwhile=lambda: None):
    """An edit that marks every node, notes whether the journal was free, and lets something happen meanwhile."""

    def edit(found):
        seen.append(free(desk.layout.memory))
        meanwhile()
        for node in found.values():
            node["marked"] = len(seen)
        return list(found.values()), b'{"id":"act-1"}\n'

    return edit


def actions(desk) -> int:
    return desk.layout.actions.read_bytes().count(b"\n") if desk.layout.actions.exists() else 0


def test_the_journal_is_free_while_many_nodes_are_prepared(desk):
    ids = [desk.add() for _ in range(MANY)]
    seen: list[bool] = []
    other = desk.add
    node_bulk.change(desk.layout, ids, mark(seen, desk, other))
    assert seen == [True], "an append in the meantime neither waits nor makes it begin anew"
    assert {desk.node(one)["marked"] for one in ids} == {1}
    assert len(desk.ids("memory.jsonl")) == 2 * MANY + 1
    assert actions(desk) == 1


def test_a_node_that_changed_meanwhile_is_not_written_over(desk):
    ids = [desk.add() for _ in range(MANY)]
    seen: list[bool] = []

    def change_one() -> None:
        if len(seen) == 1:
            files.append(desk.layout.memory, encode({**desk.node(ids[3]), "content": "newer"}))

    node_bulk.change(desk.layout, ids, mark(seen, desk, change_one))
    assert seen == [True, True]
    assert desk.node(ids[3])["content"] == "newer"
    assert {desk.node(one)["marked"] for one in ids} == {2}
    assert actions(desk) == 1


def test_what_never_comes_to_rest_is_changed_under_the_lock(desk):
    ids = [desk.add() for _ in range(MANY)]
    seen: list[bool] = []

    def disturb() -> None:
        if seen[-1]:
            files.append(desk.layout.memory, encode(desk.node(ids[0])))

    node_bulk.change(desk.layout, ids, mark(seen, desk, disturb))
    assert seen[-1] is False
    assert {desk.node(one)["marked"] for one in ids} == {len(seen)}
    assert actions(desk) == 1


def test_a_rewritten_journal_is_read_anew(desk):
    ids = [desk.add() for _ in range(MANY)]
    seen: list[bool] = []

    def rewrite() -> None:
        if len(seen) == 1:
            desk.store.nodes.rewrite(lambda lines: [b"{}", *lines])

    node_bulk.change(desk.layout, ids, mark(seen, desk, rewrite))
    assert seen == [True, True]
    assert {desk.node(one)["marked"] for one in ids} == {2}


def test_a_torn_tail_spoils_nothing(desk):
    ids = [desk.add() for _ in range(MANY)]
    with desk.layout.memory.open("ab") as file:
        file.write(b'{"id":"' + ids[0].encode() + b'","torn')
    seen: list[bool] = []
    node_bulk.change(desk.layout, ids, mark(seen, desk))
    assert {desk.node(one)["marked"] for one in ids} == {len(seen)}


def test_where_the_action_cannot_be_recorded_nothing_is_changed(desk):
    ids = [desk.add() for _ in range(MANY)]
    before = desk.layout.memory.read_bytes()
    desk.layout.actions.unlink(missing_ok=True)
    desk.layout.actions.mkdir()
    with pytest.raises(files.StoreError):
        node_bulk.change(desk.layout, ids, mark([], desk))
    assert desk.layout.memory.read_bytes() == before


def test_nothing_is_appended_where_the_edit_refuses_or_has_nothing(desk):
    ids = [desk.add() for _ in range(MANY)]
    before = desk.layout.memory.read_bytes()
    node_bulk.change(desk.layout, ids, lambda found: ([], b""))
    with pytest.raises(ActionError):
        desk.do("node.delete", node_ids=[*ids, "mem-nobody"])
    assert desk.layout.memory.read_bytes() == before


def test_a_node_touched_at_the_last_moment_stays(desk, monkeypatch):
    """Between the plan and the append somebody needs one of them."""
    ids = [desk.add(age=150) for _ in range(MANY)]
    real, calls = node_bulk._append, []

    def late(layout, prepared, wanted, holds):
        calls.append(prepared)
        if len(calls) == 1:
            desk.do("decay.touch", node_ids=ids[5], by="bo")
        return real(layout, prepared, wanted, holds)

    monkeypatch.setattr(node_bulk, "_append", late)
    done = desk.do("decay.apply")
    assert done.summary == f"{MANY - 1} nodes archived"
    assert desk.status(ids[5]) == "open"
    assert {desk.status(one) for one in ids if one != ids[5]} == {"archived"}
    desk.do("undo")
    assert {desk.status(one) for one in ids} == {"open"}
    assert nodes.find(desk.layout.memory, ids).keys() == set(ids)
