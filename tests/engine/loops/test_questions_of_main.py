"""The main agent asks the operator: it does not wait, and the answer wakes it as an order."""

from __future__ import annotations

import time

from lumen_apiserver import tool

from lumen_tui.actions.registry import named, perform
from lumen_tui.store import approvals

ASK = {"question": "Which of the two?", "default": "the first", "options": ["the first", "the second"]}


async def test_the_answer_wakes_it_as_an_order_and_comes_once(office, api):
    api.when(lambda r: "Loop 1:" in str(r.messages) and not r.called, tool("ask_operator", **ASK))
    api.otherwise(lambda r: tool("deposit", wake_state="asked"))
    office.do("signal.send", message="choose", to="lumen")
    await office.beat()
    await office.loop_over(1)
    (question,) = approvals.undecided(office.layout)
    assert question.lasting and question.role == "main"
    await office.beat()
    assert approvals.undecided(office.layout) == [question], "it outlives its loop"
    assert [need.target for need in office.picture().attention] == [question.id]
    request = named("question.answer", {"question_id": question.id, "answer": "2"})
    perform(office.store, request, by="ann", now=time.time(), order=True)
    office.clock.pass_time(400)
    await office.beat()
    await office.beat()
    await office.loop_over(2)
    said = str(api.asked[-1].messages)
    assert said.count(f"To your question {question.id}: the second") == 1
    assert '<order from=\\"ann\\"' in said or '<order from="ann"' in said
    assert "Which of the two?" in said
    assert approvals.undecided(office.layout) == []
    lines = office.layout.signals.read_text().splitlines()
    assert sum(question.id in line for line in lines) == 2


async def test_the_default_wakes_it_when_the_time_is_over_and_not_at_the_next_beat(office, api):
    api.when(lambda r: "Loop 1:" in str(r.messages) and not r.called, tool("ask_operator", **ASK, wait_minutes=2))
    api.otherwise(lambda r: tool("deposit", wake_state="asked"))
    office.do("signal.send", message="choose", to="lumen")
    await office.beat()
    await office.loop_over(1)
    assert not office.engine.approvals.due(office.clock.now())
    office.engine.poll(office.clock.now())
    (question,) = approvals.undecided(office.layout)
    office.clock.pass_time(question.expires - office.clock.now() - 1)
    office.engine.poll(office.clock.now())
    assert approvals.undecided(office.layout) == [question] and not office.engine.approvals.due(office.clock.now())
    office.clock.pass_time(2)
    assert office.engine.approvals.due(office.clock.now())
    office.engine.poll(office.clock.now())
    assert approvals.undecided(office.layout) == [] and not office.engine.approvals.due(office.clock.now())
    assert "the first" in office.layout.signals.read_text().splitlines()[-1]
