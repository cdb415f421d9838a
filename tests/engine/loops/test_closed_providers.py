"""A provider that gives no answer: a limit that ends at a known time, a refused key. Real workers, the real SDK."""

from __future__ import annotations

import pytest
from lumen_apiserver import fail, tool

from lumen_tui.actions.registry import named, perform
from lumen_tui.model import times
from lumen_tui.model.loop import Pause
from lumen_tui.model.tasks import Status
from lumen_tui.store.tasks import pauses

NAME = "provider anthropic"


def is_main(request) -> bool:
    return "deposit" in request.tool_names


def order(office, count: int) -> list[str]:
    return [office.do("task.new", objective=f"look {number}").target for number in range(count)]


async def quiet(office) -> None:
    """Wait until no worker is at work, and the engine has seen it."""
    await office.until(lambda: not office.engine.supervisor.index.running())
    await office.sleep(0.05)
    await office.until(lambda: not office.engine.supervisor.index.running())


def states(office, tasks: list[str]) -> list[Status]:
    return [office.view(task).status for task in tasks]


def limit(seconds: float, now: float, **more: str):
    headers = {"anthropic-ratelimit-unified-status": "rejected",
               "anthropic-ratelimit-unified-reset": str(int(now + seconds)), **more}  # fmt: skip
    return fail(429, "This request would exceed your account's rate limit.", headers=headers)


@pytest.fixture
def works(api):
    """Say what workers are answered first; after that they write their result, and a loop deposits."""
    api.when(is_main, tool("deposit", wake_state="seen"), again=True)

    def first(*answers) -> None:
        if answers:
            api.when(lambda r: not is_main(r), *answers)
        api.when(lambda r: not is_main(r), tool("write_result", text="done"), again=True)

    return first


async def test_a_used_up_limit_parks_the_queue_until_its_reset_and_fails_nothing(office, api, works):
    works(*[limit(2 * 3600, office.now)] * 3)
    tasks = order(office, 6)
    await office.beat()
    await quiet(office)
    await office.until(lambda: states(office, tasks) == [Status.QUEUED] * 6)
    asked = len(api.asked)
    assert 1 <= asked <= 3, "what had begun was refused, nothing else"
    words = office.picture().paused[NAME]
    until = times.stamp(office.now + 2 * 3600)[:15]  # to ten minutes
    assert words.startswith("paused by engine until ") and until in words and "rate limit" in words
    assert not [problem for problem in office.picture().problems if problem.where == NAME], "it ends by itself"
    office.crash()  # the engine is another one: the limit holds
    for _ in range(5):
        office.clock.pass_time(300)
        await office.beat()
    assert len(api.asked) == asked and states(office, tasks) == [Status.QUEUED] * 6
    office.clock.pass_time(2 * 3600)
    await office.beat()
    await office.tasks_over(6)
    assert not office.picture().paused


async def test_a_task_that_has_cost_something_waits_where_it_is(office, api, works):
    works(tool("list_dir", path="/tmp"), limit(2 * 3600, office.now))
    (task,) = order(office, 1)
    await office.beat()
    await office.until(lambda: NAME in office.picture().paused)
    await office.until(lambda: "waits for anthropic" in str(office.view(task).tail[-1:]))
    assert office.view(task).status.alive
    pauses.change(office.layout, "provider:anthropic", None)  # as `resume provider anthropic` does
    await office.tasks_over(1)
    assert [r.called for r in api.asked if not is_main(r)] == [(), ("list_dir",), ("list_dir",)], "nothing is repeated"


async def test_one_refused_key_fails_one_task_and_the_queue_waits(office, api, works, monkeypatch):
    works(*[fail(401)] * 3)
    tasks = order(office, 8)
    await office.beat()
    await quiet(office)
    await office.until(lambda: states(office, tasks).count(Status.QUEUED) == 7)
    assert states(office, tasks).count(Status.FAILED) == 1
    problems = [problem for problem in office.picture().problems if problem.where == NAME]
    assert len(problems) == 1 and "401" in problems[0].what
    asked = len(api.asked)
    office.crash()
    for _ in range(5):
        office.clock.pass_time(300)
        assert "key" in (await office.beat()).skipped
    assert len(api.asked) == asked <= 3
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-local-another-0123456789")
    await office.beat()
    await office.tasks_over(7)
    assert not office.picture().paused
    assert any("tried again: its key or its settings have changed" in text for _, text in office.told())


async def test_the_operator_tries_again(office, api, works):
    works(fail(403))
    order(office, 1)
    await office.beat()
    await quiet(office)
    assert NAME in office.picture().paused
    perform(office.store, named("engine.resume", {"target": "provider:anthropic"}), by="ann", now=office.now)
    await office.until(lambda: not office.picture().paused)
    office.do("task.new", objective="look again")
    await office.tasks_over(1)


async def test_a_loop_that_is_asked_for_asks_once_more(office, api):
    api.say(fail(401), tool("deposit", wake_state="hello"))
    office.do("signal.send", message="please look")
    await office.beat()
    assert "401" in (await office.loop_over(1)).failed
    office.clock.pass_time(3600)
    assert (await office.beat()).skipped.startswith("provider anthropic is paused by engine: the key in")
    assert (await office.beat("asked")).loop == 2
    assert not (await office.loop_over(2)).failed and not office.picture().paused


@pytest.mark.parametrize("said", ["-7200", "34560000", "soon", "9" * 400, ""])
async def test_a_reset_that_cannot_be_meant_closes_nothing(office, api, works, said):
    headers = {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": said}
    with office.layout.config.open("a") as config:
        config.write("[models]\ntries = 1\n")
    works(fail(429, headers=headers))
    (task,) = order(office, 1)
    await office.beat()
    await quiet(office)
    assert office.view(task).status is Status.FAILED and not office.picture().paused


def test_a_clock_that_was_set_back_keeps_nothing_closed():
    pause = Pause(at="2026-11-23T10:00:00Z", by="engine", until="2026-11-23T12:00:00Z", kind="limit")
    now = times.epoch("2026-11-23T11:00:00Z")
    assert not pause.past(now) and pause.past(now + 3600)
    assert pause.past(now - 400 * 86_400)


def test_of_two_limits_the_later_one_holds(tmp_path):
    from lumen_tui.storage.layout import Layout

    layout = Layout(tmp_path / "state")
    layout.create()
    early, late = (Pause(at="2026-11-23T10:00:00Z", by="engine", until=f"2026-11-2{day}T12:00:00Z") for day in (3, 7))
    assert pauses.close(layout, "anthropic", early)
    assert not pauses.close(layout, "anthropic", late)
    assert not pauses.close(layout, "anthropic", early)
    assert pauses.parts(layout).providers["anthropic"].until == late.until
