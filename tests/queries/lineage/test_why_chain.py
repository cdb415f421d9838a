"""From a signal through loop, task and call to a discovery, and the other way round, on what really ran."""

from __future__ import annotations

import json
import time

from lumen_apiserver import tool, tools, use

from lumen_tui.__main__ import main
from lumen_tui.model import lineage as shape
from lumen_tui.queries.lineage.trace import trace

DEPOSIT = tool("deposit", wake_state="One task is out.", next=["read its result"])


def is_main(request) -> bool:
    return "deposit" in request.tool_names


def path_to(hops, wanted: str) -> list[str]:
    """The kinds from the top of one side down to the hop with that id; nothing where it is not there."""
    for hop in hops:
        if hop.id == wanted:
            return [hop.kind]
        if below := path_to(hop.steps, wanted):
            return [hop.kind, *below]
    return []


def hop_of(found, kind: str):
    return next(row.hop for row in shape.rows(found) if row.hop.kind == kind)


async def test_the_whole_chain_from_both_ends(office, api, capsys):
    api.when(
        lambda r: is_main(r) and "Loop 1:" in r.first_text and not r.called,
        tools(
            use("create_task", objective="Why is the port closed?"), use("remember", text="ann asked for the port"),
            use("signal", message="looking into it", to="ann"),
        ),
    )  # fmt: skip
    api.when(lambda r: is_main(r), DEPOSIT)
    api.when(
        lambda r: "Why is the port" in r.first_text,
        tools(use("discover", title="The firewall drops 8443"), use("signal", message="it is the firewall")),
        tool("write_result", text="The firewall."),
    )
    signal = office.do("signal.send", message="Why does nothing answer?").target
    await office.beat()
    await office.loop_over(1)
    await office.tasks_over(1)
    office.clock.pass_time(300)
    await office.beat()
    await office.loop_over(2)

    (task,) = office.tasks
    discovery = office.picture().discoveries[0].node.id
    now = time.time()
    ahead = trace(office.layout, signal, now)
    assert ahead.node.kind == "signal" and not ahead.up
    assert path_to(ahead.down, discovery) == ["loop", "call", "task", "call", "discovery"]
    spent = hop_of(ahead, "task")
    assert spent.tokens > 0 and spent.status == "done" and spent.by == "researcher"
    call = next(row.hop for row in shape.rows(ahead) if row.hop.title.startswith("discover: The firewall"))
    assert 0 < call.tokens <= spent.tokens
    assert ahead.spent[0] >= spent.tokens

    back = trace(office.layout, discovery[:12], now)
    assert path_to(back.up, signal) == ["call", "task", "call", "loop", "signal"]
    assert back.up[0].title == "discover: The firewall drops 8443"

    middle = trace(office.layout, task, now)
    assert path_to(middle.up, "loop-000001") == ["call", "loop"]
    assert any(row.side == "down" and row.hop.id == "loop-000002" for row in shape.rows(middle))
    kinds = {row.hop.kind for row in shape.rows(middle) if row.side == "down"}
    assert {"discovery", "signal", "loop"} <= kinds

    assert trace(office.layout, "1", now).node.id == "loop-000001"
    assert trace(office.layout, "L1", now).node.id == "loop-000001"
    assert trace(office.layout, office.packets[0].id, now).node.id == "loop-000001"

    assert main(["--state", str(office.root), "why", discovery]) == 0
    said = capsys.readouterr().out
    assert "came from:" in said and signal in said and "tokens" in said
    assert main(["--state", str(office.root), "why", discovery, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["up"][0]["kind"] == "call"
