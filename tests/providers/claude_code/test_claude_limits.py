"""Limits of a task on the real Claude Code, also those changed while it works. Skipped where it is not there."""

from __future__ import annotations

import time

import pytest
from lumen_apiserver import held, text, tool

from lumen_tui.actions.registry import named, perform
from lumen_tui.storage.store import Store

LIST = tool("mcp__lumen__list_dir", path="/")
DONE = tool("mcp__lumen__write_result", text="# Looked")


@pytest.fixture
def changed(real_work, api):
    """Starts the work, changes limits as the operator does while the first request is out, and returns its end."""

    def run(**limits):
        api.say(held(LIST), LIST, LIST, DONE, text("That is all."), again=False)
        child = real_work.start()
        real_work.until(lambda: api.asked)
        request = named("task.limit", {"task_id": real_work.id, **limits})
        perform(Store(real_work.layout.root), request, by="ann", now=time.time(), order=True)
        api.release()
        child.wait(60)
        return real_work.exit

    return run


def test_its_budget_ends_it_before_a_request_that_has_no_room(real_work, api):
    real_work.spec(budget={"usd": 0.0, "tokens": 3000, "seconds": 0.0})
    api.say(LIST, LIST, LIST, text("never"))
    ended = real_work.run()
    assert ended["status"] == "failed" and "tokens" in ended["reason"]
    assert len(api.asked) == 0
    assert not real_work.below()


@pytest.mark.parametrize(("limits", "why"), [({"tokens": 10}, "token"), ({"usd": 0.0001}, r"$0.0001")], ids=str)
def test_a_smaller_budget_ends_it_before_its_next_request(real_work, api, changed, limits, why):
    ended = changed(**limits)
    assert ended["status"] == "failed" and why in ended["reason"], ended["reason"]
    assert len(api.asked) == 1
    assert any("The limits of this task were changed" in note for note in real_work.texts("note"))


def test_fewer_steps_are_kept_to_from_the_next_call_on(real_work, changed):
    assert changed(steps=1)["status"] == "done"
    refused = [result for result in real_work.texts("result") if "all 1 steps are used" in result]
    assert len(refused) == 2


def test_less_time_ends_it(real_work, changed):
    ended = changed(timeout_seconds=0.5)
    assert (ended["status"], ended["reason"]) == ("failed", "timed out after 0.5 s")


def test_more_room_lets_it_go_on(real_work, changed):
    real_work.spec(budget={"usd": 50.0, "tokens": 0, "seconds": 0.0}, steps=2)
    assert changed(usd=60, steps=9)["status"] == "done"
    assert not [result for result in real_work.texts("result") if "steps are used" in result]
