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
