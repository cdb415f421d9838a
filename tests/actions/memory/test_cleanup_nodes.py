from __future__ import annotations

import json

import pytest

from lumen_tui.model import ids, times
from lumen_tui.store.work import sessions

HOUR = 1 / 24
STAYS, LEAVES = "open", "archived"


@pytest.mark.parametrize(
    ("kind", "lifecycle", "age", "fate"),
    [
        ("note", "ephemeral", 0.001, LEAVES),
        ("note", "session", 0.9 * HOUR, STAYS),
        ("note", "session", 1.1 * HOUR, LEAVES),
        ("checkpoint", "session", 1.1 * HOUR, LEAVES),
        ("note", "wu", 6.9, STAYS),
        ("note", "wu", 7.1, LEAVES),
        ("note", "project", 4000, STAYS),
        ("discovery", "wu", 4000, STAYS),
        ("summary", "project", 4000, STAYS),
    ],
)
def test_each_lifecycle_has_its_time(desk, kind, lifecycle, age, fate):
    node = desk.add(kind, age=age, lifecycle=lifecycle)
    newer = desk.add(kind, lifecycle=lifecycle)
    desk.do("cleanup.nodes")
    assert desk.status(node) == fate
    assert lifecycle == "ephemeral" or desk.status(newer) == "open"
    if fate == LEAVES:
        assert lifecycle in desk.meta(node)["archive_reason"]
        desk.do("undo")
        assert desk.status(node) == "open"


def test_active_work_is_left_alone_until_it_is_done(desk):
    desk.do("wu.new", title="t", id="WU-001", lane="Core")
    node = desk.add("session", age=30, wu_id="WU-001", metadata={"ended_at": "2026-01-01T00:00:00Z"})
    point = desk.add("checkpoint", age=30, wu_id="WU-001")
    assert desk.do("cleanup.nodes").action_id == ""
    desk.do("wu.claim", wu_id="WU-001")
    assert desk.do("cleanup.nodes").action_id == ""
    desk.do("wu.done", wu_id="WU-001", no_checkpoint_check=True)
    desk.do("cleanup.nodes")
    assert desk.status(node) == "archived"
    assert desk.meta(point)["summarized_into"], "what the summary stands for is out of the way already"


def test_pending_decisions_stay_and_answered_ones_leave(desk):
    pending = desk.add("note", age=30, tags=["decision"])
    answered = desk.add("note", age=30, tags=["decision"], metadata={"answer": "yes"})
    desk.do("cleanup.nodes")
    assert (desk.status(pending), desk.status(answered)) == ("open", "archived")


def test_one_age_for_all_and_a_touch_counts(desk):
    old, touched, young = desk.add(age=31), desk.add(age=31), desk.add(age=29)
    desk.do("decay.touch", node_ids=touched)
    desk.do("cleanup.nodes", ttl="30d")
    assert [desk.status(node) for node in (old, touched, young)] == ["archived", "open", "open"]


def test_with_decay_what_has_faded_leaves_as_well(desk):
    desk.do("wu.new", title="t", id="WU-001")
    faded = desk.add(age=101, wu_id="WU-001")
    desk.do("cleanup.nodes", ttl="365d")
    assert desk.status(faded) == "open"
    desk.do("cleanup.nodes", ttl="365d", decay=True)
    assert desk.meta(faded)["decay"]["reason"].startswith("Score 0.0")


def test_a_session_is_closed_and_its_own_nodes_leave(desk, cli):
    desk.do("wu.new", title="t", id="WU-001")
    session = desk.do("session.start", wu_id="WU-001").target
    mine = desk.add("note", session_id=session)
    first = desk.add("checkpoint", age=0.1, wu_id="WU-001", session_id=session)
    last = desk.add("checkpoint", wu_id="WU-001", session_id=session)
    asked = desk.add("note", tags=["decision"], session_id=session)
    found = desk.add("discovery", session_id=session)
    other = desk.add("note", age=30, session_id="ses-other", wu_id="WU-001")
    before = desk.files()
    told = json.loads(cli("cleanup", "--session-id", session[:9], "--dry-run", "--json")[1])
    assert {one["id"] for one in told["nodes"]} == {mine, first}
    assert desk.files() == before
    code, out, _ = cli("cleanup", "--session-id", session)
    assert (code, out.splitlines()[-1]) == (0, f"session {ids.short(session)} on WU-001 ended; 2 nodes archived")
    assert sessions.read(desk.layout, session).ended_at == times.iso(desk.now)
    assert [desk.status(node) for node in (mine, first)] == ["archived"] * 2
    assert [desk.status(node) for node in (last, asked, found, other)] == ["open"] * 4
    assert cli("cleanup", "--session-id", session)[0] == 3
    assert cli("cleanup", "--session-id", "ses-otherr")[0] == 3
    assert cli("cleanup", "--session-id", "0f0f")[0] == 3


@pytest.mark.parametrize("words", [["--ttl", "30"], ["--ttl", "-3d"], ["--ttl", "soon"], ["--decai"]])
def test_bad_words_write_nothing(desk, cli, words):
    desk.add(age=300)
    before = desk.files()
    assert cli("cleanup", *words)[0] == 2
    assert desk.files() == before


def test_ten_thousand_made_ten_thousand_listed(desk, cli):
    made = {desk.add() for _ in range(100)}
    at = times.iso(desk.now)
    records = [
        {"id": f"mem-{n:013d}", "type": "discovery", "content": f"n {n}", "created_at": at} for n in range(9_900)
    ]
    desk.store.nodes.append_all(records)
    made |= {record["id"] for record in records}
    listed = json.loads(cli("export", "-f", "json")[1])
    assert {node["id"] for node in listed} == made
    assert len(listed) == 10_000
    assert len(json.loads(cli("triage", "--all", "--json")[1])) == 9_900


def test_archived_nodes_survive_every_other_command(desk, cli):
    desk.do("wu.new", title="t", id="WU-001", lane="Core")
    gone = [desk.add(age=200, wu_id="WU-001", later={"kept": n}) for n in range(3)]
    named = desk.add("discovery", age=300)
    desk.do("triage.archive", node_ids=named, reason="r")
    desk.do("decay.apply")
    before = {node: desk.node(node) for node in [*gone, named]}
    desk.add("checkpoint", wu_id="WU-001")
    desk.signals(20, age=90)
    for words in (
        ["signal", "x"], ["create", "y"], ["inbox"], ["triage", "--json"], ["cleanup", "--ttl", "1d", "--decay"],
        ["signal", "cleanup"], ["decay"], ["decay", "set", "--threshold", "0.5"], ["decay"], ["doctor", "--fix"],
        ["export"], ["why", named], ["status"], ["pin", desk.add()], ["undo"], ["wu", "list"],
        ["ready", "--wu", "WU-001"], ["delete", "--older-than", "1000d"],
    ):  # fmt: skip
        assert cli(*words)[0] in (0, 3), words
    assert {node: desk.node(node) for node in before} == before
    assert cli("summarize", "--wu", "WU-001")[0] == 0
    after = {node: desk.node(node) for node in before}
    assert {node: (one["content"], one.get("later"), one["metadata"]["status"]) for node, one in after.items()} == {
        node: (one["content"], one.get("later"), "archived") for node, one in before.items()
    }
