"""How few loops, and how cheap ones: what ends together, the tier of routine, escalation, an hour of cache."""

from __future__ import annotations

import pytest
from lumen_apiserver import fail, tool, tools, use

from lumen_tui.actions.registry import named, perform
from lumen_tui.model import agent

HAIKU, OPUS = "claude-haiku-5-5", "claude-opus-5-5"


def is_main(request) -> bool:
    return "deposit" in request.tool_names


def models(api) -> list[str]:
    return [request.model for request in api.asked if is_main(request)]


@pytest.fixture
def at_work(office, api):
    """A main agent that deposits at once, and workers that write their result at once."""
    api.when(is_main, tool("deposit", wake_state="seen"), again=True)
    api.when(lambda r: not is_main(r), tool("write_result", text="done"), again=True)
    return office


async def until_quiet(office, *, step: float = 5.0, times: int = 60) -> int:
    """Beat every few seconds as the timer does where there is news; return how many loops there were."""
    before = office.engine.loop.state.loop if office.engine.loop.state else 0
    for _ in range(times):
        report = await office.beat()
        if report.loop:
            await office.loop_over(report.loop)
        elif not office.engine.supervisor.index.busy() and report.skipped == "nothing new":
            break
        office.clock.pass_time(step)
    return office.state.loop - before


async def test_fifty_tasks_that_end_within_a_minute_are_a_handful_of_loops(at_work, api):
    for number in range(50):
        at_work.do("task.new", by=f"script-{number}", objective=f"look {number}")  # no two are made together
    await at_work.tasks_over(50)
    loops = await until_quiet(at_work)
    assert 1 <= loops <= 5
    assert sum(len(packet.done) for packet in at_work.packets) > 0
    assert sum(packet.changed["tasks_done"] for packet in at_work.packets) == 50


async def test_what_a_loop_made_is_heard_of_when_all_of_it_has_ended(office, api):
    slow = lambda r: not is_main(r) and "slow" in r.first_text  # noqa: E731 - a match, twice
    orders = tools(use("create_task", objective="a quick one"), use("create_task", objective="a slow one"))
    api.when(lambda r: is_main(r) and "Loop 1:" in r.first_text and not r.called, orders)
    api.when(is_main, tool("deposit", wake_state="seen"), again=True)
    api.when(slow, tool("list_dir", path="/tmp", how={"first_byte": 60}))
    api.when(lambda r: not is_main(r), tool("write_result", text="done"), again=True)
    office.do("signal.send", message="begin")
    await office.beat()
    await office.loop_over(1)
    await office.tasks_over(1)
    office.clock.pass_time(60)
    report = await office.beat()
    assert (report.loop, report.skipped) == (0, "what ended is kept for a moment, for what ends with it")
    assert office.engine.next_beat(office.now, soon=False) <= office.now + 540
    office.clock.pass_time(600)
    assert (await office.beat()).loop == 2, "the bound has passed"


async def test_an_order_of_the_operator_waits_for_nothing(at_work, api):
    at_work.do("task.new", objective="look")
    await at_work.tasks_over(1)
    assert (await at_work.beat()).loop == 0
    perform(at_work.store, named("signal.send", {"message": "now, please"}), by="ann", now=at_work.now, order=True)
    assert (await at_work.beat()).loop == 1
    packet = await at_work.loop_over(1)
    assert packet.changed["tasks_done"] == 1 and packet.tier == "" and packet.tier_why == "an order of the operator"
    assert models(api) == [OPUS]


async def test_routine_begins_on_the_cheap_tier_and_the_packet_says_why(at_work, api):
    at_work.do("signal.send", message="the backup ended well")
    await at_work.beat()
    packet = await at_work.loop_over(1)
    assert models(api) == [HAIKU]
    assert (packet.tier, packet.tier_why, packet.escalated) == ("haiku", "the news is routine", "")
    assert "this loop begins on haiku" in api.asked[-1].first_text


@pytest.mark.parametrize(("priority", "why"), [("P0", "an alarm (P0)")])
async def test_an_alarm_goes_to_the_agents_own_tier(at_work, api, priority, why):
    at_work.do("signal.send", message="down!", priority=priority)
    await at_work.beat()
    assert (await at_work.loop_over(1)).tier_why == why
    assert models(api) == [OPUS]


async def test_a_task_that_failed_goes_to_the_agents_own_tier(office, api):
    api.when(is_main, tool("deposit", wake_state="seen"), again=True)
    api.when(lambda r: not is_main(r), fail(400), again=True)
    office.do("task.new", objective="look")
    await office.beat()
    await office.until(lambda: not office.engine.supervisor.index.busy())
    office.clock.pass_time(20)
    await office.beat()
    assert (await office.loop_over(1)).tier_why == "a task failed"
    assert models(api) == [OPUS]


async def test_the_cheap_tier_hands_over_what_it_found_and_did(office, api):
    api.when(lambda r: is_main(r) and r.model == HAIKU and not r.called, tool("remember", text="two plans exist"))
    api.when(lambda r: r.model == HAIKU, tool("escalate", reason="two plans, one must be chosen"))
    api.when(lambda r: r.model == OPUS, tool("deposit", wake_state="chosen"))
    office.do("signal.send", message="which plan?")
    await office.beat()
    packet = await office.loop_over(1)
    assert models(api) == [HAIKU, HAIKU, OPUS]
    assert (packet.tier, packet.escalated) == ("haiku", "two plans, one must be chosen") and not packet.failed
    told = api.asked[-1].first_text
    assert "handed it over to you: two plans, one must be chosen" in told and "two plans exist" in told
    assert packet.changed["memory_added"] == 1
    assert set(office.state.models) == {"haiku", ""}


async def test_where_the_cheap_tier_cannot_be_asked_the_own_one_does_it(office, api):
    api.when(lambda r: r.model == HAIKU, fail(404), again=True)
    api.when(is_main, tool("deposit", wake_state="seen"))
    office.do("signal.send", message="hello")
    await office.beat()
    packet = await office.loop_over(1)
    assert models(api) == [HAIKU, OPUS] and not packet.failed and "could not do it" in packet.escalated


async def test_a_model_that_is_set_for_the_role_serves_its_routine_too(at_work, api):
    with at_work.layout.config.open("a") as config:
        config.write('[models]\nroles = { main = "sonnet" }\n')
    at_work.do("signal.send", message="hello")
    await at_work.beat()
    assert (await at_work.loop_over(1)).tier == ""
    assert models(api) == ["claude-sonnet-5-5"]


async def test_an_agent_that_hears_only_of_its_own_tasks_comes_to_rest(office, api):
    """It orders one more task in each loop, for ever."""
    api.when(lambda r: is_main(r) and not r.called, lambda r: tool("create_task", objective=f"again {len(api.asked)}"),
             again=True)  # fmt: skip
    api.when(is_main, tool("deposit", wake_state="one more is out"), again=True)
    api.when(lambda r: not is_main(r), tool("write_result", text="done"), again=True)
    office.do("signal.send", message="begin")
    for _ in range(60):
        report = await office.beat()
        if report.loop:
            await office.loop_over(report.loop)
            await office.until(lambda: not office.engine.supervisor.index.busy())
        elif "rests until" in report.skipped:
            break
        office.clock.pass_time(16)
    assert office.state.own_loops == agent.OWN_LOOPS and "nothing but the tasks" in office.state.rests_why
    office.do("signal.send", message="a person asks", to="lumen", priority="P0")
    assert (await office.beat()).loop, "news from outside is heard"
