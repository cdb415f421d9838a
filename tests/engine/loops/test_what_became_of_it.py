"""A person's decision on what the agent proposed, and its reason, reach the agent's next loop, once."""

from __future__ import annotations

from lumen_apiserver import tool, tools, use


def briefing(api, loop: int) -> str:
    return next(request.first_text for request in api.asked if f"Loop {loop}:" in request.first_text)


async def test_the_decision_and_its_reason_reach_the_next_loop_and_no_later_one(office, api):
    api.when(
        lambda r: "Loop 1:" in r.first_text and not r.called,
        tools(*(use("propose", title=f"Use the {name} widget", why="figures") for name in ("blue", "red", "green"))),
    )
    api.when(lambda r: "Loop" in r.first_text, tool("deposit", wake_state="Done."), again=True)
    office.do("signal.send", message="Which widget?")
    await office.beat()
    await office.loop_over(1)
    found = {row.node.title.split()[3]: row.node.id for row in office.picture().discoveries}
    office.clock.pass_time(60)
    office.do("triage.archive", node_ids=found["blue"], reason="blue is taken")
    office.do("triage.promote", node_ids=found["red"], lane="Core")
    office.do("triage.archive", node_ids=found["green"], reason="a slip")
    office.do("undo")
    for loop in (2, 3):
        office.clock.pass_time(600)
        office.do("signal.send", message="And now?")
        await office.beat()
        await office.loop_over(loop)
    second = briefing(api, 2)
    assert "ann: “Proposal: Use the blue widget” archived, because: blue is taken" in second
    assert "“Proposal: Use the red widget” promoted to WU-001 in Core" in second
    assert "a slip" not in second, "it was taken back"
    assert "What became of discoveries" not in briefing(api, 3)
