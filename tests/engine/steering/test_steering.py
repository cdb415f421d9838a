"""The operator speaks to a worker while it runs: messages, a stop after a step, other limits."""

from __future__ import annotations

import os
import signal

import pytest
from lumen_apiserver import held, text, tool

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.steering import SteerState
from lumen_tui.store.tasks import steers


async def test_what_is_said_is_in_the_very_next_request_as_an_order(desk, api):
    api.say(held(tool("list_dir", path="/")), tool("list_dir", path="/tmp"), tool("write_result", text="x"))
    task = desk.task()
    await desk.until(lambda: len(api.asked) == 1)
    told = desk.order("task.tell", task_id=task, text="Look at /tmp only.")
    assert "no engine" not in told.summary
    api.release()
    assert await desk.over(task) == "done"
    said = [request.last_text.count("Look at /tmp only.") for request in api.asked]
    assert said == [0, 1, 0]
    second = api.asked[1].messages[-1]
    assert [block["type"] for block in second["content"]] == ["tool_result", "text"]
    (steer,) = steers.read(desk.folder(task))
    assert second["content"][1]["text"] == (
        f'<order from="ann" about="{steer.id}, said at {steer.at} while you work">\nLook at /tmp only.\n</order>'
    )
    assert api.asked[2].messages[: len(api.asked[1].messages)] == unmarked(api.asked[1].messages, api.asked[2].messages)
    assert steer.state is SteerState.READ
    assert [event["text"] for event in desk.events(task, "steered")] == ["ann: Look at /tmp only."]


def unmarked(before: list, after: list) -> list:
    """Return the messages of `before`, with the marks for the cache as they are in `after`."""
    assert [message["role"] for message in before] == [message["role"] for message in after[: len(before)]]
    return after[: len(before)]


@pytest.mark.parametrize("end", [tool("write_result", text="early"), text("That is all.")])
async def test_a_message_that_comes_with_the_end_is_heard_before_it(desk, api, end):
    api.say(held(end), tool("write_result", text="late"))
    task = desk.task()
    await desk.until(lambda: len(api.asked) == 1)
    desk.order("task.tell", task_id=task, text="One more thing.")
    api.release()
    assert await desk.over(task) == "done"
    assert "One more thing." in api.asked[1].last_text
    assert desk.result(task) == "late\n"


async def test_a_message_is_taken_back_until_it_was_read(desk, api):
    api.say(held(tool("list_dir", path="/")), held(tool("list_dir", path="/tmp")), tool("write_result", text="x"))
    task = desk.task()
    await desk.until(lambda: len(api.asked) == 1)
    first = desk.order("task.tell", task_id=task, text="one")
    second = desk.order("task.tell", task_id=task, text="two")
    desk.order("undo", action_id=first.action_id)
    api.release()
    await desk.until(lambda: len(api.asked) == 2)
    assert ("one" in api.asked[1].last_text.split("<order")[-1], "two" in api.asked[1].last_text) == (False, True)
    with pytest.raises(ActionError, match="the worker has read it already"):
        desk.order("undo", action_id=second.action_id)
    api.release()
    await desk.over(task)
    assert [steer.state for steer in steers.read(desk.folder(task))] == [SteerState.WITHDRAWN, SteerState.READ]


async def test_a_task_that_has_just_ended_refuses_and_says_what_can_be_done(desk, api):
    api.say(tool("write_result", text="x"))
    task = desk.task()
    await desk.over(task)
    with pytest.raises(ActionError, match=r"has ended already \(done\): `task new` makes another"):
        desk.order("task.tell", task_id=task, text="wait")
    assert not steers.path_of(desk.folder(task)).exists()


async def test_what_no_worker_saw_stands_in_the_events(desk, api):
    api.say(held(text("never")))
    task = desk.task()
    await desk.until(lambda: len(api.asked) == 1)
    desk.order("task.tell", task_id=task, text="too late")
    desk.order("task.cancel", task_id=task)
    assert await desk.over(task) == "cancelled"
    api.release()
    unseen = [event["text"] for event in desk.events(task, "note") if "not seen" in event.get("text", "")]
    assert len(unseen) == 1 and unseen[0].endswith("too late")
    assert [steer.state for steer in steers.read(desk.folder(task))] == [SteerState.UNSEEN]


async def test_a_killed_worker_that_never_read_it_leaves_it_to_the_engine(desk, api):
    desk.layout.config.write_text(desk.layout.config.read_text() + "retries = 0\n")
    api.say(tool("write_file", path="a", content="a"), held(text("never")))
    task = desk.task()
    await desk.until(lambda: len(api.asked) == 2)
    desk.order("task.tell", task_id=task, text="too late")
    os.kill(desk.pid(task), signal.SIGKILL)
    await desk.until(lambda: desk.events(task, "note")[-1:] and "not seen" in desk.events(task, "note")[-1]["text"])
    api.release()
    assert desk.view(task).status == "lost"


async def test_an_attempt_that_goes_on_is_told_once(desk, api):
    api.say(held(tool("list_dir", path="/")), held(text("never")), tool("write_result", text="x"))
    task = desk.task()
    await desk.until(lambda: len(api.asked) == 1)
    desk.order("task.tell", task_id=task, text="Mind the gap.")
    api.release()
    await desk.until(lambda: len(api.asked) == 2)
    os.kill(desk.pid(task), signal.SIGKILL)
    assert await desk.over(task) == "done"
    api.release()
    assert ["Mind the gap." in str(request.messages) for request in api.asked] == [False, True, True]
    assert api.asked[2].messages == api.asked[1].messages


@pytest.mark.usefixtures("sandbox")
async def test_stop_after_this_step_keeps_what_there_is_and_asks_no_more(desk, api):
    wait = "until [ -e go ]; do sleep 0.02; done; echo found"
    api.say(tool("shell", say="I look for it.", command=wait), text("never"))
    task = desk.task()
    await desk.until(lambda: desk.events(task, "call"))
    desk.order("task.cancel", task_id=task, after="step", reason="enough for today")
    await desk.until(lambda: (desk.folder(task) / "stop.json").exists())
    await desk.until((desk.folder(task) / "files").is_dir)
    (desk.folder(task) / "files" / "go").touch()
    assert await desk.over(task) == "cancelled"
    assert len(api.asked) == 1
    result = desk.result(task)
    assert result.startswith("# Not finished\n\nThe task was stopped after a step: cancelled by ann: enough for today.")
    assert "I look for it." in result
    assert f"- {wait}: exit 0" in result or wait in result


async def test_other_limits_hold_from_the_next_request_on(desk, api):
    api.otherwise(
        lambda request: tool("list_dir", path=f"/{'./' * len(api.asked)}") if len(api.asked) < 9 else text("ok")
    )
    api.when(lambda request: len(api.asked) == 1, held(tool("list_dir", path="/")))
    task = desk.task()
    await desk.until(lambda: len(api.asked) == 1)
    desk.order("task.limit", task_id=task, steps=2, timeout_seconds=7200, usd=3)
    api.release()
    await desk.over(task)
    words = "The limits of this task were changed: 2 tool calls and 2 h 0 m altogether; it may spend $3"
    assert words in api.asked[1].last_text
    refused = [event for event in desk.events(task, "result") if not event.get("ok", True)]
    assert refused and "all 2 steps are used" in refused[0]["text"]
    assert desk.events(task, "result").index(refused[0]) == 2


async def test_more_steps_let_it_go_on(desk, api):
    api.otherwise(
        lambda request: tool("list_dir", path=f"/{'./' * len(api.asked)}") if len(api.asked) < 9 else text("ok")
    )
    api.when(lambda request: len(api.asked) == 1, held(tool("list_dir", path="/")))
    task = desk.task()
    await desk.until(lambda: len(api.asked) == 1)
    changed = desk.order("task.limit", task_id=task, steps=30)
    assert "30 tool calls" in changed.summary
    api.release()
    assert await desk.over(task) == "done"
    assert all(event.get("ok", True) for event in desk.events(task, "result")), "its role allows 6"


async def test_a_smaller_budget_stops_it_before_its_next_request(desk, api):
    api.say(held(tool("list_dir", path="/")), text("never"))
    task = desk.task()
    await desk.until(lambda: len(api.asked) == 1)
    desk.order("task.limit", task_id=task, tokens=10)
    api.release()
    assert await desk.over(task) == "failed"
    assert len(api.asked) == 1
    assert "the task's budget" in desk.view(task).reason


async def test_less_time_ends_it(desk, api):
    api.say(held(tool("list_dir", path="/")), held(text("never")))
    task = desk.task()
    await desk.until(lambda: len(api.asked) == 1)
    changed = desk.order("task.limit", task_id=task, timeout_seconds=0.2)
    api.release()
    assert await desk.over(task) == "failed"
    api.release()
    assert "timed out" in desk.view(task).reason
    with pytest.raises(ActionError, match="has ended already"):
        desk.order("undo", action_id=changed.action_id)


async def test_bounds_and_rubbish(desk, api):
    api.say(held(text("ok")))
    task = desk.task()
    await desk.until(lambda: len(api.asked) == 1)
    for bad, why in (("", "nothing to say"), (" \x1b[2J ", "nothing to say"), ("x" * 8001, "8,000 at most")):
        with pytest.raises(ActionError, match=why):
            desk.order("task.tell", task_id=task, text=bad)
    for limits, why in (
        ({}, "nothing to change"),
        ({"steps": -1}, "will not do"),
        ({"usd": -1}, "a budget is 0 .none of its own. to 1,000,000"),
        ({"timeout_seconds": 1e9}, "7 days"),
    ):
        with pytest.raises(ActionError, match=why):
            desk.order("task.limit", task_id=task, **limits)
    for number in range(20):
        desk.order("task.tell", task_id=task, text=f"number {number}")
    with pytest.raises(ActionError, match="it has got 20 messages, the most"):
        desk.order("task.tell", task_id=task, text="one more")
    with pytest.raises(ActionError, match="there is no task"):
        desk.order("task.tell", task_id="nope", text="x")
