"""A packet counts what the loop and its workers changed, and nothing that a person did meanwhile."""

from __future__ import annotations

import msgspec
import pytest
from lumen_apiserver import fail, tool, tools, use

from lumen_tui.engine.loops.news import gather
from lumen_tui.engine.loops.packet import defects_fixed
from lumen_tui.model.records import Node
from lumen_tui.model.times import iso


def a_memory(office) -> None:
    office.do("node.create", content="the port is 8443", type="note")


def a_fact(office) -> None:
    office.do("fact.add", claim="The port is 8443")


def a_discovery(office) -> None:
    office.do("node.create", content="a race at the start", type="discovery")


def a_cancelled_task(office) -> None:
    task = office.do("task.new", objective="Look at the port").target
    office.do("task.cancel", task_id=task)


def a_defect(office) -> None:
    office.do("wu.new", title="A bug", type="bug", id="WU-001")
    office.do("wu.claim", wu_id="WU-001")
    office.do("wu.done", wu_id="WU-001")


PERSONAL = {"a memory": a_memory, "a fact": a_fact, "a discovery": a_discovery, "a defect": a_defect,
            "a cancelled task": a_cancelled_task}  # fmt: skip
READ = {"signals_read", "discoveries_read"}


@pytest.mark.sweep(most=4)
@pytest.mark.parametrize("ends", ["well", "badly"])
@pytest.mark.parametrize("act", PERSONAL)
async def test_what_a_person_did_between_two_loops_is_not_the_loops(office, api, act, ends):
    good = tool("deposit", wake_state="All quiet.")
    api.when(lambda request: "deposit" in request.tool_names, good if ends == "well" else fail(404), again=True)
    office.do("signal.send", message="hello")
    await office.beat()
    await office.loop_over(1)
    PERSONAL[act](office)
    office.do("signal.send", message="again")
    office.clock.pass_time(7200)
    await office.beat("asked")
    packet = await office.loop_over(2)
    assert bool(packet.failed) == (ends == "badly")
    assert set(packet.changed) <= (READ if ends == "well" else set()), packet.changed


async def test_what_the_loop_and_its_workers_did_is(office, api):
    api.when(
        lambda request: "deposit" in request.tool_names,
        tools(
            use("remember", text="ann looks after the port", kind="decision", source="her signal"),
            use("discover", title="a race at the start", details="seen twice"),
            use("create_task", objective="Which port is it?"),
        ),
        tool("deposit", wake_state="Out.", made=[{"title": "the answer"}], decided=["ask first"]),
    )
    office.do("signal.send", message="hello")
    await office.beat()
    packet = await office.loop_over(1)
    assert packet.changed == {
        "signals_read": 1, "memory_added": 1, "discoveries_added": 1, "tasks_created": 1, "artifacts": 1, "decisions": 1
    }  # fmt: skip


@pytest.mark.parametrize(("type_", "name"), [("note", "memory_added"), ("discovery", "discoveries_added")])
@pytest.mark.parametrize("worker", [True, False])
def test_a_node_counts_by_its_author(office, type_, name, worker):
    metadata = {"task_id": "tsk-1", "trust": "worker"} if worker else {"status": "open"}
    by = "researcher" if worker else "ann"
    at = iso(office.clock.now())
    node = Node(id="mem-1", type=type_, content="x", created_at=at, metadata=metadata, created_by=by)

    office.store.nodes.append(node)
    assert gather(office.store, office.engine.log, {}, "lumen").by_workers == ({name: 1} if worker else {})


@pytest.mark.parametrize(("by", "count"), [("ann", 0), ("lumen", 1), ("tsk-1", 1), ("researcher", 1)])
def test_a_defect_counts_by_who_finished_it(office, by, count):
    now = office.clock.now()
    name = office.do("wu.new", title="A bug", type="bug").target
    stamp = {"wu_id": name, "done_at": iso(now), "done_by": by}
    (office.layout.stamps / f"{name}.done").write_bytes(msgspec.json.encode(stamp))
    assert defects_fixed(office.layout, now - 60, now + 60).get("defects_fixed", 0) == count
