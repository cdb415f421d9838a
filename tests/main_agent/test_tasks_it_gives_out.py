"""What the main agent can say of a task that it gives out."""

from __future__ import annotations

import msgspec

from lumen_tui.model.loop import LoopState
from lumen_tui.tools.agent import TaskArguments


def test_loop_state_has_every_documented_field_also_where_all_is_well() -> None:
    state = msgspec.json.decode(msgspec.json.encode(LoopState(1, "2026-01-01T00:00:00Z")))
    assert state["token_budget"] == {"window": "day", "limit": 0, "used": 0, "remaining": 0}
    assert state["health"] == {"status": "ok", "note": ""}
    assert state["last_artifact"] == {"kind": "", "path": "", "title": ""}


def test_an_order_has_tier_lane_time_and_budget() -> None:
    fields = msgspec.json.schema(TaskArguments)["$defs"]["TaskArguments"]["properties"]
    assert {"model", "lane", "timeout_seconds", "tokens", "usd"} <= set(fields)
