"""What the main agent can say of a task that it gives out."""

from __future__ import annotations

import msgspec
from lumen_apiserver import tool, tools, use

from lumen_tui.model.loop import LoopState
from lumen_tui.model.tasks import Status


def test_loop_state_has_every_documented_field_also_where_all_is_well() -> None:
    state = msgspec.json.decode(msgspec.json.encode(LoopState(1, "2026-01-01T00:00:00Z")))
    assert state["token_budget"] == {"window": "day", "limit": 0, "used": 0, "remaining": 0}
    assert state["health"] == {"status": "ok", "note": ""}
    assert state["last_artifact"] == {"kind": "", "path": "", "title": ""}


async def test_an_order_with_tier_lane_time_and_budget_binds_the_task(office, api, tmp_path):
    office.do("wu.new", title="A unit", id="WU-001", lane="Core")
    order = {"model": "haiku", "lane": "Core", "timeout_seconds": 90.0, "tokens": 30_000, "usd": 0.25}
    api.when(
        lambda request: "deposit" in request.tool_names,
        tools(use("create_task", objective="Which port?", **order), use("create_task", objective="x", lane="Moon")),
        tool("deposit", wake_state="Out."),
    )
    for number in range(5):  # more than it was given
        (tmp_path / f"room-{number}").mkdir()
        look = tool("list_dir", {"path": f"{tmp_path}/room-{number}"}, how={"usage": {"input_tokens": 9000}})
        api.when(lambda request: "Which port" in request.first_text, look)
    office.do("signal.send", message="please look")
    await office.beat()
    packet = await office.loop_over(1)
    assert len(packet.ordered) == 1, "a lane that nobody knows is refused"
    await office.until(lambda: office.view(office.tasks[0]).status.ended)
    made = office.view(office.tasks[0])
    spec = made.spec
    assert (spec.model, spec.lane, spec.timeout_seconds) == ("haiku", "Core", 90.0)
    assert (spec.budget.tokens, spec.budget.usd, spec.created_by) == (30_000, 0.25, "loop-000001")
    assert made.status is Status.FAILED and "budget" in made.reason
    models = {request.model for request in api.asked if "Which port" in request.first_text}
    assert models and all("haiku" in model for model in models)
    refused = [text for request in api.asked for text in request.results if "Moon" in text]
    assert refused and "Core" in refused[0]
