"""Two real loops: the second wakes with what the first left out, and the packets tell how they found their bearings."""

from __future__ import annotations

from lumen_apiserver import tool, tools, use

from lumen_tui.model.capsule import render
from lumen_tui.queries import loop_history
from lumen_tui.store.memory import loop_records


def main_of(loop: int):
    return lambda request: "deposit" in request.tool_names and f"Loop {loop}:" in request.first_text


async def test_the_second_loop_knows_what_the_first_abandoned(office, api, tmp_path):
    (tmp_path / "a.log").write_text("x" * 3000)
    api.when(lambda r: main_of(1)(r) and not r.called, tool("glob", path=str(tmp_path), pattern="*.log"))
    api.when(
        lambda r: main_of(1)(r) and r.called == ("glob",),
        tools(use("create_task", objective="Which port is refused?", role="researcher")),
    )
    api.when(
        main_of(1),
        tool("deposit", wake_state="A task is out.", abandoned=[{"what": "the cache", "why": "too slow"}],
             decided_against=[{"what": "a database", "why": "files do"}], decided=["ask workers first"]),
    )  # fmt: skip
    api.when(main_of(2), tool("deposit", wake_state="nothing more"))
    office.do("signal.send", message="hello")
    await office.beat()
    first = await office.loop_over(1)
    woke = loop_history.read_capsule(office.layout, 1)
    assert woke is not None and woke.last_loop == 0
    (ordered,) = first.ordered
    assert ordered.endswith(": Which port is refused?") and first.changed["tasks_created"] == 1
    found = first.orientation
    assert (found.first, found.reads) == ("create_task", 1) and found.spent > 0
    assert found.size > 800 and found.tokens == -(-found.size // 4) and 0 < found.seconds < first.seconds + 1

    office.clock.pass_time(600)
    office.do("signal.send", message="again", priority="P0")
    await office.beat()
    await office.loop_over(2)
    briefing = next(r for r in api.asked if main_of(2)(r)).first_text
    capsule = loop_history.read_capsule(office.layout, 2)
    assert capsule is not None and "abandoned in loop 1: the cache, because too slow" in render(capsule)
    assert "abandoned in loop 1: the cache, because too slow" in briefing
    assert "decided against in loop 1: a database, because files do" in briefing
    assert loop_records.capsule_loops(office.layout) == [1, 2]
