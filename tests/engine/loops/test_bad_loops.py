"""Sessions that fail, are killed, repeat themselves or change nothing."""

from __future__ import annotations

import json
import os
import signal

import msgspec
import pytest
from lumen_apiserver import fail, held, text, tool, tools, use

from lumen_tui.model.loop import Packet
from lumen_tui.model.snapshot import Need
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store.signals import inbox


def is_main(request) -> bool:
    return "deposit" in request.tool_names


def unread(office) -> int:
    return len(inbox.unread(str(office.layout.memory.parent), "lumen", 50).signals)


def needs(office) -> list[str]:
    picture = SnapshotReader(office.root).snapshot(office.clock.now())
    return [one.text for one in picture.attention if one.need is Need.LOOP]


def pid_of(office, name: str) -> int:
    return int(json.loads((office.folder(name) / "run.json").read_text())["pid"])


async def test_a_failed_session_is_told_marks_nothing_read_and_is_tried_again_after_a_rest(office, api):
    with office.layout.config.open("a") as config:
        config.write('[models]\nroutine = { main = "" }\n')  # no other tier takes over
    api.say(fail(404), fail(404), fail(404), tool("deposit", wake_state="fine again"))
    office.do("signal.send", message="please look")
    await office.beat()
    first = await office.loop_over(1)
    assert "404" in first.failed and first.health.status == "degraded" and first.wake_state == ""
    assert unread(office) == 1 and not office.layout.wake_state.exists()
    assert needs(office) == [f"the main agent's loop 1 failed: {first.health.note}"], "one is enough to be told"
    office.do("signal.send", message="now!", priority="P0")
    assert "rests until" in (await office.beat()).skipped
    office.clock.pass_time(601)
    assert (await office.beat()).loop == 2
    await office.loop_over(2)
    assert "please look" in api.asked[-1].first_text
    assert len(needs(office)) == 1 and "last 2 loops failed" in needs(office)[0]
    office.clock.pass_time(1201)
    await office.beat()
    third = await office.loop_over(3)
    assert "not shown again" in third.abandoned[0].what
    assert len(needs(office)) == 1 and "last 3 loops failed" in needs(office)[0] and unread(office) == 2
    office.clock.pass_time(7 * 3600)
    assert (await office.beat()).skipped == "nothing new"
    office.do("signal.send", message="the key is mended", to="lumen")
    assert (await office.beat()).loop == 4
    assert (await office.loop_over(4)).wake_state == "fine again"
    assert needs(office) == [] and office.state.failed_loops == 0


async def test_a_person_gets_a_loop_whatever_holds_it_off(office, api):
    api.say(fail(401), tool("deposit", wake_state="hello"))
    office.do("signal.send", message="please look")
    await office.beat()
    await office.loop_over(1)
    assert (await office.beat("asked")).loop == 2
    assert not (await office.loop_over(2)).failed


async def test_a_killed_session_goes_on_and_does_nothing_twice(office, api):
    call = tools(use("create_task", objective="What is in /etc?"), use("signal", message="I begin"))
    api.when(lambda r: is_main(r) and not r.called, call)
    api.when(is_main, held(text("never")), tool("deposit", wake_state="both attempts are one"))
    api.otherwise(tool("write_result", text="nothing much"))
    office.do("signal.send", message="go")
    await office.beat()
    await office.until(lambda: len([r for r in api.asked if is_main(r)]) == 2)
    os.kill(pid_of(office, "loop-000001"), signal.SIGKILL)
    packet = await office.loop_over(1)
    assert packet.wake_state == "both attempts are one"
    assert packet.changed["tasks_created"] == packet.changed["signals_sent"] == 1
    _, before, after = [r for r in api.asked if is_main(r)][:3]
    assert after.messages == before.messages


async def test_a_killed_session_without_its_steps_begins_once_more_and_does_nothing_twice(office, api):
    call = tools(use("create_task", objective="What is in /etc?"), use("signal", message="I begin"),
                 use("remember", text="a fact"))  # fmt: skip
    api.when(lambda r: is_main(r) and "cut off" not in r.first_text and not r.called, call)
    api.when(lambda r: is_main(r) and "cut off" not in r.first_text, held(text("never")))
    api.when(lambda r: is_main(r) and not r.called, call)
    api.when(is_main, tool("deposit", wake_state="both attempts are one"))
    api.otherwise(tool("write_result", text="nothing much"))
    office.do("signal.send", message="go")
    await office.beat()
    await office.until(lambda: len([r for r in api.asked if is_main(r)]) == 2)
    os.kill(pid_of(office, "loop-000001"), signal.SIGKILL)
    (office.folder("loop-000001") / "steps.jsonl").unlink()
    packet = await office.loop_over(1)
    assert packet.wake_state == "both attempts are one"
    assert packet.changed["tasks_created"] == packet.changed["signals_sent"] == packet.changed["memory_added"] == 1
    assert len(office.tasks) == 1
    sent = [msgspec.json.decode(line) for line in office.store.signals.lines()]
    assert [one["message"] for one in sent] == ["go", "I begin"] and sent[1]["sender"] == "lumen"
    again = next(r for r in api.asked if "cut off" in r.first_text)
    assert office.tasks[0] in again.first_text
    assert "done before in this loop" in [r for r in api.asked if is_main(r)][-1].last_text


async def test_a_session_that_was_killed_behind_its_deposit_is_over(office, api):
    api.say(held(text("never")))
    office.do("signal.send", message="go")
    await office.beat()
    await office.until(lambda: api.asked)
    folder = office.folder("loop-000001")
    (folder / "deposit.json").write_text('{"wake_state": "it stands"}')
    os.kill(pid_of(office, "loop-000001"), signal.SIGKILL)
    packet = await office.loop_over(1)
    assert packet.wake_state == "it stands" and len(api.asked) == 1


@pytest.mark.parametrize("moment", ["current.json", "spec.json", "session", "packet", "loop-state"])
async def test_an_engine_killed_at_any_point_completes_the_loop_once(office, api, moment, monkeypatch):
    api.say(held(tool("deposit", wake_state="once")))
    office.do("signal.send", message="go")
    session = office.engine.loop._session
    if moment == "current.json":
        monkeypatch.setattr("lumen_tui.store.tasks.task_files.add", _killed)
    elif moment == "spec.json":
        monkeypatch.setattr(office.engine.supervisor.dispatcher, "start_loop", _killed)
    with_kill = moment in ("current.json", "spec.json")
    if with_kill:
        with pytest.raises(Killed):
            await office.beat()
        monkeypatch.undo()
        for name, value in api.anthropic_env.items():
            monkeypatch.setenv(name, value)
    else:
        await office.beat()
        await office.until(lambda: api.asked)
    if moment == "packet":
        monkeypatch.setattr(office.engine.loop, "_settle", _killed)
    elif moment == "loop-state":
        monkeypatch.setattr(session, "close", _killed)
    if moment in ("packet", "loop-state"):
        api.release()
        with pytest.raises(Killed):
            await office.until(lambda: False)
    office.crash()
    api.release()
    await office.beat()
    await office.until(lambda: api.asked or office.packets)
    api.release()
    packet = await office.loop_over(1)
    assert packet.wake_state == "once" and office.state.loop == len(office.packets)
    assert [one.wake_state for one in office.packets].count("once") == 1 == len(api.asked)
    assert unread(office) == 0 and not office.layout.open_loop.exists()
    assert (await office.beat()).skipped == "nothing new"


class Killed(BaseException):
    """The engine ends here."""


def _killed(*_: object, **__: object) -> None:
    raise Killed


async def test_the_number_never_repeats_even_where_all_records_of_it_are_gone(office, api):
    api.say(tool("deposit", wake_state="one"))
    office.do("signal.send", message="go")
    await office.beat()
    await office.loop_over(1)
    office.crash()
    office.layout.loop_state.unlink()
    office.layout.packets.unlink()
    office.do("signal.send", message="go on")
    assert (await office.beat()).loop == 2
    await office.until(lambda: office.layout.packets.exists() and office.packets)


async def test_loops_that_change_nothing_come_less_often_and_are_shown(office, api):
    api.otherwise(tool("deposit", wake_state="nothing to do"))
    for number in range(1, 4):
        office.do("signal.send", message=f"chatter {number}")
        assert (await office.beat()).loop == number
        await office.loop_over(number)
    assert office.state.empty_loops == 3 and "changed nothing" in needs(office)[0]
    office.do("signal.send", message="more chatter")
    office.clock.pass_time(500)
    assert "changed nothing" in (await office.beat()).skipped
    office.clock.pass_time(120)
    assert (await office.beat()).loop == 4
    await office.loop_over(4)
    assert office.state.sleep_seconds == 1200
    office.do("attention.dismiss", targets=["empty-loop-000001"])
    assert needs(office) == []


async def test_a_session_that_says_the_same_call_for_ever_is_stopped_and_told(office, api):
    api.otherwise(tool("list_dir", path="/etc"))
    office.do("signal.send", message="go")
    await office.beat()
    packet = await office.loop_over(1)
    assert packet.failed and len(api.asked) < 12, packet.failed


async def test_a_session_without_steps_left_may_still_deposit_and_then_ends(office, api):
    role = office.layout.roles / "main.md"
    role.write_text('+++\npurpose = "short"\ntools = ["list_dir"]\n[limits]\nmax_steps = 2\n+++\nbe short\n')
    api.otherwise(lambda r: tool("list_dir", path="/" + "usr" * (len(r.called) % 2)))
    office.do("signal.send", message="go")
    await office.beat()
    assert "step limit" in (await office.loop_over(1)).failed
    api.say(tool("list_dir", path="/"), tool("list_dir", path="/usr"), tool("deposit", wake_state="enough"))
    assert (await office.beat("asked")).loop == 2
    assert (await office.loop_over(2)).wake_state == "enough"


async def test_last_words_without_a_deposit_are_kept_as_one(office, api):
    api.say(text("I looked, and nothing is to be done."))
    office.do("signal.send", message="go")
    await office.beat()
    packet = await office.loop_over(1)
    assert "nothing is to be done" in packet.wake_state and packet.health.status == "degraded"
    assert not packet.failed and unread(office) == 0


async def test_sleep_holds_back_what_can_wait_and_nothing_else(office, api):
    api.when(lambda r: not r.called, tools(use("sleep", seconds=7200, reason="quiet"), use("remember", text="x")))
    api.say(tool("deposit", wake_state="asleep"))
    office.do("signal.send", message="go")
    await office.beat()
    assert (await office.loop_over(1)).sleep_why == "quiet"
    office.do("signal.send", message="by the way")
    office.clock.pass_time(3600)
    assert (await office.beat()).skipped.endswith("quiet")
    office.do("signal.send", message="you there", to="lumen")
    assert (await office.beat()).loop == 2
    await office.loop_over(2)
    assert "by the way" in api.asked[-1].first_text


@pytest.mark.threat("S10", "floods of signals, requests, messages and calls")
async def test_a_flood_is_one_loop_and_what_was_not_shown_stays_unread(office, api):
    api.say(tool("deposit", wake_state="flooded"))
    for number in range(60):
        office.do("signal.send", message=f"number {number} " + "x" * 300)
    office.do("signal.send", message="the house burns", priority="P0")
    for number in range(60, 80):
        office.do("signal.send", message=f"number {number} " + "x" * 300)
    await office.beat()
    packet = await office.loop_over(1)
    briefing = api.asked[0].first_text
    assert briefing.index("the house burns") < briefing.index("number 79")
    assert "signals left out" in briefing and len(briefing) < 40_000 and packet.cut
    assert unread(office) == 50 and packet.changed["signals_read"] == len(packet.read) < 30
    assert (await office.beat()).skipped == "nothing new"


async def test_only_the_engine_has_sessions_of_the_main_agent(office):
    from lumen_tui.actions.outcome import ActionError

    with pytest.raises(ActionError, match="main agent's own"):
        office.do("task.new", objective="lead", role="main")
    with pytest.raises(ActionError, match="choose another id"):
        office.do("task.new", objective="lead", id="loop-000009")


async def test_a_deposit_larger_than_a_line_is_cut_and_says_so(office, api):
    many = [{"what": "ü" * 300, "why": "ü" * 400}] * 20
    api.say(tool("deposit", wake_state="ü" * 12_000, abandoned=many, decided_against=many, next=["ü" * 400] * 20))
    office.do("signal.send", message="go")
    await office.beat()
    packet = await office.loop_over(1)
    assert len(msgspec.json.encode(packet)) < 61_000 and "was cut" in packet.cut[-1]
    assert isinstance(packet, Packet) and office.state.loop == 1


async def test_without_a_key_the_story_is_told_as_before(office, api, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    office.do("signal.send", message="go")
    assert (await office.beat()).loop == 1
    assert office.packets[0].brain == "offline" and api.requests == [] and unread(office) == 0
    assert "Written without a model" in office.layout.wake_state.read_text()
