"""Turns of the chat on the local API server: what is said, sent, kept and ordered."""

from __future__ import annotations

import json

import msgspec
from lumen_apiserver import held, text, tool

from lumen_tui.actions.registry import named, perform
from lumen_tui.model import agent
from lumen_tui.model.tasks import Spec
from lumen_tui.store.sessions import chats


def say(office, words: str, *, order: bool = True):
    request = named("chat.send", {"text": words})
    return perform(office.store, request, by="ann", now=office.clock.now(), client="cli", order=order)


def is_turn(request) -> bool:
    return "create_task" in request.tool_names and "deposit" not in request.tool_names


def talk(office):
    return chats.read(office.layout)


async def turn_over(office, number: int):
    await office.until(lambda: (found := talk(office).turn(number)) is not None and found.end is not None)
    return talk(office).turn(number)


async def test_two_turns_the_second_is_sent_the_first_and_finds_it_in_the_cache(office, api):
    office.engine  # noqa: B018 - opened
    api.when(is_turn, text("Nothing runs now."), text("You asked whether anything runs."))
    say(office, "Does anything run?")
    first = await turn_over(office, 1)
    assert (first.answer, first.end.status) == ("Nothing runs now.", "done")
    assert first.end.usage.tokens > 0 and first.end.brain.startswith("anthropic")
    say(office, "What did I ask?")
    second = await turn_over(office, 2)
    assert second.answer == "You asked whether anything runs."
    one, two = [request for request in api.asked if is_turn(request)]
    assert '<order from="ann"' in one.first_text and "Does anything run?" in one.first_text
    roles = [message["role"] for message in two.messages]
    assert roles == ["user", "assistant", "user"]
    assert two.first_text == one.first_text
    assert one.body["system"][0]["text"] == two.body["system"][0]["text"]
    assert "What did I ask?" in two.last_text and "Where you are" not in two.last_text
    billed = [json.loads(line) for line in office.layout.spend.read_text().splitlines()]
    assert billed


async def test_what_is_ordered_in_the_chat_becomes_a_task_with_the_order(office, api):
    office.engine  # noqa: B018 - opened
    api.when(
        lambda r: is_turn(r) and not r.called,
        tool("create_task", say="I give it to a researcher.", objective="Count the files in /tmp"),
    )
    api.when(is_turn, text("It is under way."))
    api.when(lambda r: "Count the files" in r.first_text, tool("write_result", text="Three."))
    say(office, "How many files are in /tmp? Have somebody count.")
    turn = await turn_over(office, 1)
    assert turn.answer == "It is under way."
    assert [(step.kind, step.name) for step in turn.steps] == [
        ("said", ""), ("call", "create_task"), ("result", ""), ("said", ""),
    ]  # fmt: skip
    await office.tasks_over(1)
    (name,) = [name for name in office.tasks if not agent.is_own(name)]
    spec = msgspec.json.decode((office.folder(name) / "spec.json").read_bytes(), type=Spec)
    assert (spec.order, spec.created_by) == (True, "chat-000001")
    worker = next(r for r in api.asked if "Count the files" in r.first_text and not is_turn(r))
    assert "The operator ordered this in the chat" in worker.first_text
    say(office, "And?")
    await turn_over(office, 2)
    told = [request for request in api.asked if is_turn(request)][-1]
    assert "Three." in told.last_text and [message["role"] for message in told.messages] == [
        "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert "recorded" in json.dumps(told.messages[2])


async def test_only_the_operator_talks_here(office, api):
    office.engine  # noqa: B018 - opened
    for words, why in (("hello", "only the operator"), ("", "only the operator")):
        try:
            say(office, words, order=False)
        except Exception as error:  # noqa: BLE001 - looked at
            assert why in str(error)
    assert not office.layout.chat.exists() and not api.asked


async def test_a_turn_beside_a_loop_and_the_next_loop_is_told(office, api):
    api.when(lambda r: "deposit" in r.tool_names and "Loop 1:" in r.first_text, held(tool("deposit", wake_state="one")))
    api.when(is_turn, text("The loop is at work; I am here."))
    api.when(lambda r: "deposit" in r.tool_names, tool("deposit", wake_state="two"))
    office.do("signal.send", message="look at this")
    assert (await office.beat()).loop == 1
    await office.until(lambda: api.asked)
    say(office, "Never touch the folder /srv. Are you there?")
    turn = await turn_over(office, 1)
    assert turn.answer == "The loop is at work; I am here."
    assert "loop 1 of yours is at work" in api.asked[-1].first_text
    assert not office.packets and not office.layout.wake_state.exists()
    api.release()
    await office.loop_over(1)
    assert office.layout.wake_state.read_text().count("one")
    assert (await office.beat()).skipped == "nothing new"  # a turn alone wakes no loop
    office.do("signal.send", message="and this")
    office.clock.pass_time(300)
    assert (await office.beat()).loop == 2
    await office.loop_over(2)
    told = api.asked[-1].first_text
    assert "Never touch the folder /srv." in told and "The loop is at work; I am here." in told
    assert "do not do again what was done" in told
    office.do("signal.send", message="a third")
    office.clock.pass_time(300)
    assert (await office.beat()).loop == 3
    await office.loop_over(3)
    assert "Never touch" not in api.asked[-1].first_text
