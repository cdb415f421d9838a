from __future__ import annotations

import json

import pytest

from lumen_tui.model.lineage import Hop, Trace
from lumen_tui.queries.lineage.provenance import provenance


def walk(steps: tuple[Hop, ...]) -> list:
    return [(step.link, step.id, *([walk(step.steps)] if step.steps else [])) for step in steps]


def tree(desk, node: str) -> Trace:
    return provenance(desk.store, node)


def test_the_chain_up_and_down(desk):
    task = desk.do("task.new", objective="look at the logs").target
    first = desk.add("discovery", metadata={"status": "open", "task_id": task})
    second = desk.do("node.create", content="the cause", discovered_from=first).target
    other = desk.do("node.create", content="the same cause").target
    desk.do("triage.merge", node_ids=other, into=second)
    unit = desk.do("triage.promote", node_ids=second, lane="Core").target
    kept = desk.do("node.promote", node_ids=second, tag="pitfall").target
    assert walk(tree(desk, second).up) == [
        ("merged from", other), ("noticed on", first, [("noted by task", task)]),
    ]  # fmt: skip
    assert walk(tree(desk, second).down) == [("promoted to", unit), ("kept for the project as", kept)]
    assert walk(tree(desk, first).down)[0][:2] == ("led to", second)
    assert walk(tree(desk, kept).up)[0][:2] == ("copied from", second)
    assert tree(desk, first).up[0].title == "look at the logs"
    assert tree(desk, first).up[0].kind == "task"


def test_summaries_name_their_sources_and_sources_their_summary(desk):
    desk.do("wu.new", title="t", id="WU-001")
    notes = [desk.add(wu_id="WU-001", content=f"n {n}") for n in range(3)]
    summary = desk.do("summary.make", wu_id="WU-001").target
    assert {step.id for step in tree(desk, summary).up} == set(notes)
    assert walk(tree(desk, notes[0]).down) == [("summarized into", summary)]


def test_circles_end_and_what_is_gone_is_named(desk):
    one, two = desk.add(), desk.add()
    at = "2027-01-01T00:00:00Z"
    for start, finish in ((one, two), (two, one), (one, "mem-gone"), (one, "../../etc/passwd"), (one, "WU-999")):
        edge = {"from_id": start, "to_id": finish, "type": "discovered_from", "created_at": at}
        desk.store.relationships.append(edge)
    found = tree(desk, one)
    assert [(step.id, step.kind) for step in found.up] == [
        (two, "note"), ("mem-gone", ""), ("../../etc/passwd", ""), ("WU-999", ""),
    ]  # fmt: skip
    assert found.up[0].steps[0].again


def test_an_edge_that_was_taken_back_is_none(desk):
    one, two = desk.add(), desk.add()
    desk.do("relation.add", from_id=one, to_id=two, type="related")
    assert walk(tree(desk, one).up) == [("related to", two)]
    desk.do("relation.remove", from_id=one, to_id=two, type="related")
    assert tree(desk, one).up == ()


def test_why_on_the_command_line(desk, cli):
    first = desk.add("discovery", content="\x1b[2J[/]evil\u202e")
    second = desk.do("node.create", content="noticed", discovered_from=first).target
    code, out, _ = cli("why", second[:12])
    assert code == 0
    assert "came from:\n   noticed on  " + first in out
    assert not set(out) & set("\x1b\u202e")
    assert json.loads(cli("why", first, "--json")[1])["down"][0]["id"] == second
    assert cli("why", "mem-nothing")[0] == 3
    code, _, err = cli("why", "mem-")
    assert (code, first in err, second in err) == (2, True, True)


def test_promoted_knowledge_is_made_once_and_taken_back(desk, cli):
    node = desk.add(tags=["x"], content="Never hold two locks", wu_id="WU-001")
    before = desk.node(node)
    copy = desk.do("node.promote", node_ids=node, tag="invariant").target
    made = desk.node(copy)
    assert (made["lifecycle"], made["tags"], made["content"]) == ("project", ["invariant", "x"], "Never hold two locks")
    assert made["metadata"]["promoted_from"] == node
    assert desk.node(node) == before
    assert cli("promote", node, "--tag", "invariant")[1].strip() == copy
    assert desk.do("node.promote", node_ids=node, tag="invariant").action_id == ""
    assert desk.do("node.promote", node_ids=node, tag="faq").target != copy
    desk.do("undo")
    desk.do("undo")
    assert desk.status(copy) == "deleted"
    assert desk.do("node.promote", node_ids=node, tag="invariant").target == copy
    assert desk.status(copy) == "open"


def test_of_a_work_unit_its_summary_is_promoted(desk, cli):
    desk.do("wu.new", title="t", id="WU-001")
    desk.add(wu_id="WU-001")
    code, _, err = cli("promote", "--wu", "WU-001", "--tag", "pattern")
    assert (code, "summarize --wu WU-001" in err) == (3, True)
    summary = desk.do("summary.make", wu_id="WU-001").target
    assert cli("promote", "--wu", "WU-001", "--tag", "pattern", "--dry-run")[1].strip().endswith(summary)
    copy = cli("promote", "--wu", "WU-001", "--tag", "pattern")[1].strip()
    assert desk.meta(copy)["promoted_from"] == summary


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["mem-x", "--tag", "patern"], "pattern"),
        (["--tag", "faq"], ""),
        (["mem-x", "--tag", "faq", "--wu", "WU-1"], ""),
    ],
)
def test_bad_promotions_write_nothing(desk, cli, words, near):
    before = desk.files()
    code, _, err = cli("promote", *words)
    assert (code, near in err) == (2, True)
    assert desk.files() == before


def test_a_decision_that_is_kept_is_not_pending(desk):
    node = desk.add("discovery", content="We use flock")
    copy = desk.do("node.promote", node_ids=node, tag="decision").target
    assert desk.meta(copy)["answer"] == "We use flock"
