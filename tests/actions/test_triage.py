from __future__ import annotations

import itertools
import multiprocessing
from pathlib import Path

import pytest

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import named, perform
from lumen_tui.model import decay
from lumen_tui.model.records import Relationship
from lumen_tui.storage import files
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import edges, nodes
from lumen_tui.store.memory.node_index import NodeIndex
from lumen_tui.store.work import work_units


def state_of_node(node) -> str:
    return node["metadata"].get("status") or "open"


def open_ids(desk) -> list[str]:
    index = NodeIndex(desk.store.layout)
    while index.refresh():
        pass
    return [row.node.id for row in index.discoveries(desk.now)]


def test_promote_makes_the_work_unit_and_links_both_ways(desk):
    node = desk.discovery("Race in the session manager\nTwo locks.", type="bug", priority="p1", wu_id="WU-042")
    done = desk.do("triage.promote", node_ids=[node[:9]], lane="Framework: Core")
    unit = work_units.read_unit(desk.store.layout, done.target)
    assert (unit.id, unit.type, unit.lane, unit.priority) == ("WU-043", "bug", "Framework: Core", "P1")
    assert (unit.title, unit.discovery, unit.discovered_in) == ("Race in the session manager", node, "WU-042")
    assert "Two locks." in unit.body
    assert desk.node(node)["metadata"]["promoted_to"] == "WU-043"
    assert open_ids(desk) == []


def test_promote_of_several_gives_each_its_own_unit(desk):
    found = [desk.discovery(f"thing {number}") for number in range(3)]
    done = desk.do("triage.promote", node_ids=found, lane="Core")
    units = work_units.list_units(desk.store.layout)[0]
    assert [unit.discovery for unit in units] == found
    assert "3 discoveries promoted to WU-001, WU-002, WU-003" in done.summary


def test_a_promote_cut_off_behind_the_work_unit_is_finished_by_the_next(desk, monkeypatch):
    node = desk.discovery()

    def crash(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(nodes, "append_both", crash)
        with pytest.raises(KeyboardInterrupt):
            desk.do("triage.promote", node_ids=node, lane="Core")
    assert [unit.id for unit in work_units.list_units(desk.store.layout)[0]] == ["WU-001"]
    assert open_ids(desk) == [node]
    desk.restart()
    assert desk.do("triage.promote", node_ids=node, lane="Core").target == "WU-001"
    assert [unit.id for unit in work_units.list_units(desk.store.layout)[0]] == ["WU-001"]
    assert open_ids(desk) == []


def test_unknown_fields_of_a_node_survive_its_triage(desk):
    files.append(
        desk.store.layout.memory,
        b'{"id": "mem-fd1d", "type": "discovery", "content": "x", "created_at": "2026-01-01T00:00:00Z",'
        b' "ours": {"deep": [1]}, "metadata": {"priority": "P1", "theirs": 7}}\n',
    )
    desk.do("triage.archive", node_ids="mem-fd1d", reason="duplicate")
    node = desk.node("mem-fd1d")
    assert node["ours"] == {"deep": [1]}
    assert node["metadata"]["theirs"] == 7
    assert node["metadata"]["archive_reason"] == "duplicate"


def test_keep_hides_a_discovery_for_some_days(desk):
    node = desk.discovery()
    assert desk.do("triage.keep", node_ids=node, days=1).summary.endswith(" snoozed for 1 day")
    assert desk.do("triage.keep", node_ids=node, days=2).summary.endswith(" snoozed for 2 days")
    assert open_ids(desk) == []
    desk.now += 3 * 86400
    assert open_ids(desk) == [node]


def test_merge_closes_the_others_and_keeps_their_tags(desk):
    one, two, stays = desk.discovery(tags=["a"]), desk.discovery(tags=["b"]), desk.discovery(tags=["c"])
    desk.do("triage.merge", node_ids=[one, two], into=stays)
    assert desk.node(stays)["tags"] == ["c", "a", "b"]
    assert desk.node(one)["metadata"]["merged_into"] == stays
    assert open_ids(desk) == [stays]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_merge_keeps_the_highest_priority_and_all_that_the_closed_were_tied_to(desk, order):
    made = [
        desk.discovery(tags=["a"], priority="P3", wu_id="WU-001"), desk.discovery(tags=["b"], priority="P0"),
        desk.discovery(tags=["a", "c"], wu_id="WU-002"),
    ]  # fmt: skip
    child = desk.discovery(discovered_from=made[0])
    desk.do("relation.add", from_id=made[1], to_id="WU-002", type="blocks")
    stays, *others = (made[number] for number in order)
    before = {node_id: desk.node(node_id) for node_id in made}
    ties = set(edges.in_force(desk.store.layout))
    desk.do("triage.merge", node_ids=others, into=stays)
    node = desk.node(stays)
    assert node["metadata"]["priority"] == "P0"
    assert set(node["tags"]) == {"a", "b", "c"}
    linked = {edge for edge in edges.in_force(desk.store.layout) if stays in edge}
    assert {(child, stays, "discovered_from"), (stays, "WU-002", "blocks")} <= linked
    units = {node["wu_id"]} | {edge.finish for edge in linked if edge.type == "related"}
    assert units == {"WU-001", "WU-002"}
    desk.do("undo")
    assert set(edges.in_force(desk.store.layout)) == ties
    for node_id in made:
        now = desk.node(node_id)
        for name in ("tags", "wu_id"):
            assert now.get(name) == before[node_id].get(name)
        assert now["metadata"].get("priority") == before[node_id].get("metadata", {}).get("priority")
        assert state_of_node(now) == "open"
    desk.do("redo")
    assert desk.node(stays)["metadata"]["priority"] == "P0"
    assert {edge for edge in edges.in_force(desk.store.layout) if stays in edge} == linked


@pytest.mark.parametrize(
    ("verb", "arguments", "words"),
    [
        ("triage.promote", {"node_ids": "mem-zzzz", "lane": "Core"}, "there is no node"),
        ("triage.promote", {"node_ids": "mem-", "lane": "Core"}, "several ids"),
        ("triage.promote", {"node_ids": "../../etc", "lane": "Core"}, "not usable"),
        ("triage.promote", {"node_ids": [], "lane": "Core"}, "nothing is selected"),
        ("triage.promote", {"node_ids": "{first}", "lane": ""}, "lane"),
        ("triage.promote", {"node_ids": "{first}", "lane": "Framework: Coer"}, "nearly 'Framework: Core'"),
        ("triage.promote", {"node_ids": "{first}", "lane": "X", "wu_id": "WU-1/../2"}, "not usable"),
        ("triage.promote", {"node_ids": "{first}", "lane": "X", "wu_id": "WU-001"}, "exists already"),
        ("triage.promote", {"node_ids": ["{first}", "{second}"], "lane": "X", "title": "t"}, "one by one"),
        ("triage.archive", {"node_ids": "{first}", "reason": "  "}, "reason"),
        ("triage.archive", {"node_ids": ["{first}", "{note}"], "reason": "r"}, "is a note"),
        ("triage.keep", {"node_ids": "{first}", "days": 0}, "0 days"),
        ("triage.keep", {"node_ids": "{first}", "days": float("nan")}, "nan days"),
        ("triage.merge", {"node_ids": "{first}", "into": "{first}"}, "nothing to merge"),
        ("triage.promote", {"node_ids": "{first}"}, "lane"),
        ("triage.promte", {"node_ids": "{first}"}, "no verb"),
        ("node.create", {"content": " "}, "empty"),
        ("node.create", {"content": "x" * 70_000}, "longer"),
        ("node.create", {"content": "x", "type": "bugg"}, "unknown"),
        ("node.create", {"content": "x", "priority": "P9"}, "P9"),
        ("node.create", {"content": "x", "wu_id": "WU-abc"}, "WU-042"),
        ("node.create", {"content": "x", "discovered_from": "mem-zzzz"}, "there is no node"),
        ("node.unarchive", {"node_ids": "{first}"}, "not archived"),
        ("decay.touch", {"node_ids": "mem-zzzz"}, "there is no node"),
    ],
)
def test_bad_input_writes_nothing(desk, verb, arguments, words):
    desk.do("wu.new", title="there", lane="Framework: Core")
    names = {"first": desk.discovery("one"), "second": desk.discovery("two"), "note": desk.discovery("n", type="note")}

    def fill(value):
        if isinstance(value, list):
            return [fill(one) for one in value]
        return value.format(**names) if isinstance(value, str) else value

    before = desk.files()
    with pytest.raises(ActionError) as refused:
        desk.do(verb, **{name: fill(value) for name, value in arguments.items()})
    assert words in str(refused.value)
    assert desk.files() == before


def test_an_ambiguous_prefix_names_the_candidates(desk):
    one, two = desk.discovery("one"), desk.discovery("two")
    with pytest.raises(ActionError) as refused:
        desk.do("decay.pin", node_ids="mem")
    assert set(refused.value.candidates) == {one, two}


def test_a_whole_id_wins_over_longer_ones(desk):
    for node_id in ("mem-fd1d", "mem-fd1d.1"):
        line = {"id": node_id, "type": "note", "content": node_id, "created_at": ""}
        desk.store.nodes.append(line)
    desk.do("decay.pin", node_ids="fd1d")
    assert desk.node("mem-fd1d")["metadata"] == {"pinned": True}
    assert "metadata" not in desk.node("mem-fd1d.1")


def test_create_with_a_source_leaves_the_link(desk):
    source = desk.discovery()
    made = desk.discovery("follow-up", discovered_from=source, type="question", tags=["auth"])
    line = next(iter(desk.store.relationships.lines()))
    assert Relationship(from_id=made, to_id=source, type="discovered_from", created_at="").to_id.encode() in line
    assert desk.node(made)["tags"] == ["auth", "question"]
    assert desk.node(made)["type"] == "discovery"


def test_decay_by_hand(desk):
    node = desk.discovery("n", type="note")
    desk.do("decay.pin", node_ids=node)
    assert desk.node(node)["metadata"] == {"pinned": True}
    desk.do("decay.pin", node_ids=node, pinned=False)
    desk.now += 90 * 86400
    desk.do("decay.touch", node_ids=node)
    index = NodeIndex(desk.store.layout)
    while index.refresh():
        pass
    assert index.fading(decay.DecayRule(), desk.now)[0].score == pytest.approx(1.0, abs=0.001)


def _crowd(root: str, number: int) -> None:
    store = Store(Path(root))
    for turn in range(12):
        made = perform(
            store, named("node.create", {"content": f"{number}.{turn}"}), by=f"agent-{number}", now=1.0 + turn
        )
        if turn % 3 == 0:
            perform(
                store, named("triage.promote", {"node_ids": made.target, "lane": "Core"}), by=f"agent-{number}", now=2.0
            )
        elif turn % 3 == 1:
            perform(
                store, named("triage.archive", {"node_ids": made.target, "reason": "r"}), by=f"agent-{number}", now=2.0
            )
    try:
        perform(
            store, named("triage.promote", {"node_ids": "mem-shared", "lane": "Core"}), by=f"agent-{number}", now=3.0
        )
    except ActionError:
        pass


def test_eight_processes_at_once_lose_nothing(desk):
    desk.store.nodes.append({"id": "mem-shared", "type": "discovery", "content": "shared", "created_at": ""})
    context = multiprocessing.get_context("fork")
    crowd = [context.Process(target=_crowd, args=(str(desk.root), number)) for number in range(8)]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join(60)
    assert [process.exitcode for process in crowd] == [0] * 8
    with desk.store.layout.memory.open("rb") as file:
        records = nodes.newest(file.fileno(), _all_ids(desk))
    states = [node.get("metadata", {}).get("status", "open") for _, node in records.values()]
    assert (states.count("promoted"), states.count("archived"), states.count("open")) == (33, 32, 32)
    units = work_units.list_units(desk.store.layout)[0]
    assert len(units) == 33
    assert len({unit.discovery for unit in units}) == 33
    assert sum(one.verb.startswith("triage.") for one in journal.actions(desk.store.layout)) == 65


def _all_ids(desk) -> set[str]:
    lines = desk.store.layout.memory.read_bytes().splitlines()
    return {line.split(b'"id":"', 1)[1].split(b'"', 1)[0].decode() for line in lines}


def test_priority_type_and_title_are_changed_and_undone_together(desk):
    node = desk.discovery("Race in the manager\nTwo locks.", priority="P2")
    desk.do("triage.edit", node_ids=node, priority="p0", type="idea", title="  A race\n in the manager ")
    record = desk.node(node)
    assert (record["metadata"]["priority"], record["metadata"]["type"]) == ("P0", "idea")
    assert record["content"] == "A race in the manager\nTwo locks."
    desk.do("undo")
    assert (desk.node(node)["content"], desk.node(node)["metadata"]["priority"]) == (
        "Race in the manager\nTwo locks.",
        "P2",
    )


@pytest.mark.parametrize(
    ("wanted", "words"),
    [({"priority": "P7"}, "P0, P1"), ({"type": "joke"}, "bug, idea"), ({}, "nothing to change")],
)
def test_what_is_no_priority_or_type_changes_nothing(desk, wanted, words):
    node = desk.discovery("Race")
    with pytest.raises(ActionError, match=words):
        desk.do("triage.edit", node_ids=node, **wanted)
    assert list(journal.actions(desk.store.layout))[1:] == []


def test_a_title_is_for_one_and_a_decided_one_stays(desk):
    nodes_open = [desk.discovery("one"), desk.discovery("two")]
    with pytest.raises(ActionError, match="one discovery only"):
        desk.do("triage.edit", node_ids=nodes_open, title="both")
    desk.do("triage.archive", node_ids=nodes_open[0], reason="old")
    with pytest.raises(ActionError, match="archived"):
        desk.do("triage.edit", node_ids=nodes_open[0], priority="P0")


def test_the_type_that_a_person_gave_is_that_of_the_work_unit(desk):
    node = desk.discovery("Race", type="bug")
    desk.do("triage.edit", node_ids=node, type="question")
    done = desk.do("triage.promote", node_ids=node, lane="Core")
    assert work_units.read_unit(desk.store.layout, done.target).type == "question"
