"""The main agent plans by its own tools: a whole loop on the local API server, and what becomes of it."""

from __future__ import annotations

from lumen_apiserver import fail, tool, tools, use

from lumen_tui.actions import acting
from lumen_tui.model.records import Action
from lumen_tui.model.roles import PLANNING_TOOLS
from lumen_tui.store.memory import relays
from lumen_tui.store.work import work_units

TALKER = """+++
purpose = "Takes its turn."
tools = ["relay_read", "relay_submit", "write_result"]
+++

Take turns.
"""


def units(office):
    return {unit.id: unit for unit in work_units.list_tracked(office.layout)}


async def test_a_loop_makes_moves_and_closes_work_and_a_person_takes_it_back(office, api):
    found = office.do("node.create", content="The lock is lost\n\nafter a restart, seen twice").target
    office.do("wu.new", title="A closed thing", id="WU-001", lane="Core")
    api.when(
        lambda r: "deposit" in r.tool_names,
        tools(use("list_discoveries"), use("list_units"), use("list_tasks")),
        tools(
            use("create_unit", title="Locks survive", lane="Core", acceptance=["make test passes after kill -9"]),
            use("judge_discoveries", ids=[found], verdict="promote", lane="Core", reason="data is lost"),
            use("update_unit", wu_id="WU-001", action="close"),
        ),
        tools(
            use("split_unit", wu_id="WU-002", parts=[{"title": "Find it"}, {"title": "Fix it"}], in_order=True),
            use("create_task", objective="Find where the lock goes", wu_id="WU-004", usd=0.2, model="haiku"),
        ),
        tool("deposit", wake_state="It is planned."),
    )
    api.when(lambda r: "Find where the lock" in r.first_text, tool("write_result", text="In the store."))
    office.do("signal.send", message="plan the locks", to="lumen")
    await office.beat()
    packet = await office.loop_over(1)
    asked = [request for request in api.asked if "deposit" in request.tool_names]
    assert set(PLANNING_TOOLS) <= set(asked[0].tool_names)
    assert "after a restart, seen twice" in "".join(asked[1].results)
    known = units(office)
    assert known["WU-002"].acceptance == ("make test passes after kill -9",) and known["WU-001"].status == "done"
    assert known["WU-003"].discovery == found
    assert [known[name].title for name in ("WU-004", "WU-005")] == ["Find it", "Fix it"]
    changed = {name: count for name, count in packet.changed.items() if name.startswith(("units", "tasks"))}
    assert packet.changed["discoveries_judged"] == 1
    assert changed == {"units_made": 3, "units_changed": 1, "tasks_created": 1}
    await office.tasks_over(1)
    worker = next(r for r in api.asked if "Find where the lock" in r.first_text)
    assert "Find it" in worker.first_text and "This task is from the main agent" in worker.first_text
    acts = [act for act in office.store.actions.records(Action) if act.client == f"{acting.AGENT}loop-000001"]
    assert {act.verb for act in acts} >= {"wu.new", "wu.split", "triage.promote", "wu.done", "task.new"}
    split = next(act for act in acts if act.verb == "wu.split")
    office.do("undo", action_id=split.id)
    assert "WU-004" not in units(office) and "WU-003" in units(office)


async def test_a_loop_that_is_cut_off_plans_nothing_twice(office, api):
    calls = (
        use("create_unit", title="Once"), use("create_task", objective="Look once", depends_on=[]),
    )  # fmt: skip
    api.when(
        lambda r: "deposit" in r.tool_names, tools(*calls), fail(400), tools(*calls), tool("deposit", wake_state="x")
    )
    api.when(lambda r: "Look once" in r.first_text, tool("write_result", text="seen"), again=True)
    office.do("signal.send", message="plan", to="lumen")
    await office.beat()
    await office.loop_over(1)
    await office.tasks_over(1)
    assert len(units(office)) == 1 and len(office.tasks) == 1


async def test_a_role_with_relay_tools_reads_and_says_something_in_turn(office, api):
    office.do(
        "role.hire", name="talker",
        text=TALKER,
    )  # fmt: skip
    office.do("relay.submit", relay_name="release", text="Is the branch cut?", base=0)
    said = {"name": "release", "text": "It is, at 9.", "base": 1}
    api.when(
        lambda r: "Take your turn" in r.first_text,
        tool("relay_read", {"name": "release"}),
        tool("relay_submit", said),
        tool("relay_submit", {**said, "text": "On an old state.", "base": 0}),
        tool("write_result", text="said"),
    )
    office.do("task.new", objective="Take your turn", role="talker")
    await office.beat()
    await office.tasks_over(1)
    asked = [request for request in api.asked if "Take your turn" in request.first_text]
    assert {"relay_read", "relay_submit"} <= set(asked[0].tool_names)
    assert "Is the branch cut?" in asked[1].results[0] and "position 1" in asked[1].results[0]
    state = relays.read(office.layout, "release")
    assert [entry.text for entry in state.entries] == ["Is the branch cut?", "It is, at 9."]
    assert "held" in asked[3].results[0]
