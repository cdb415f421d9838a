"""Pane 1 says of a loop what that loop did, and pane 2 what goes on of what it ordered."""

from __future__ import annotations

from typing import Any

import msgspec

from lumen_tui.engine.loops.session import wake_text
from lumen_tui.model import agent
from lumen_tui.model.loop import Artifact, LeftOut, LoopState, Packet
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.spendbook import SpendView
from lumen_tui.model.tasks import Spec, Status, TaskEvent, TaskView, Usage
from lumen_tui.model.times import iso
from lumen_tui.tui.panes.loop import loop_rows
from lumen_tui.tui.theme import NO_APPEARANCE

NOW = 1_800_000_000.0


def task(name: str, status: Status, loop: int = 0, **more: Any) -> TaskView:
    made = agent.task_id(loop) if loop else "ann"
    return TaskView(Spec(id=name, objective=name, created_by=made), status, **more)


def packet(loop: int = 7, **more: Any) -> Packet:
    return Packet("pkt-1", loop, iso(NOW - 60), iso(NOW - 30), brain="anthropic", **more)


def picture(packets: tuple[Packet, ...], *tasks: TaskView, **state: Any) -> Snapshot:
    loop = LoopState(**{"loop": 7, "completed_at": iso(NOW - 30), **state})
    return Snapshot(root="/s", taken=NOW, loop=loop, packets=packets, tasks=tasks)


def rows(snapshot: Snapshot, width: int = 90) -> dict[str, str]:
    found = loop_rows(snapshot, snapshot.session, NOW, NO_APPEARANCE, width)
    return {name: "".join(text for text, _ in parts) for name, parts in found}


def test_a_loop_that_ordered_tasks_did_not_make_nothing() -> None:
    ordered = ("tsk-a: look", "tsk-b: build", "tsk-c: gone")
    views = task("tsk-a", Status.RUNNING, 7), task("tsk-b", Status.QUEUED, 7), task("tsk-x", Status.RUNNING)
    found = rows(picture((packet(ordered=ordered),), *views))
    assert found["output"] == "no artifact"
    assert found["ordered"] == "3 tasks  1 running, 1 queued"
    over = rows(picture((packet(changed={"tasks_created": 1}),), task("tsk-a", Status.DONE, 7)))
    assert over["ordered"] == "1 task  it has ended"
    assert rows(picture((packet(),)))["output"] == "nothing"


def test_an_earlier_loops_report_is_not_the_later_ones() -> None:
    last = Artifact("report", "tasks/x/result.md", "disk usage")
    found = rows(picture((packet(6, made=(last,)), packet(7)), last_artifact=last))
    assert found["output"] == "nothing  earlier: disk usage"
    own = rows(picture((packet(7, made=(last, Artifact("note", "", "b"))),), last_artifact=last))
    assert own["output"] == "note  b  and 1 more"
    at_work = picture((packet(7, made=(last,)),), task("loop-000008", Status.RUNNING), last_artifact=last)
    session = msgspec.structs.replace(at_work.tasks[0], spec=Spec(id="loop-000008", objective="x", role=agent.ROLE))
    found = rows(msgspec.structs.replace(at_work, tasks=(session,)))
    assert found["before"] == "loop 7, ended 30 s ago"


def test_the_days_tokens_and_the_loops_are_told_apart() -> None:
    shown = picture((packet(usage=Usage(11_000, 1000, 0.02)),))
    found = rows(msgspec.structs.replace(shown, spend=SpendView(tokens=61_000, tokens_cap=100_000)))
    assert found["spent"] == "12 k tokens  $0.02  this loop"
    assert found["today"].endswith("61 k of 100 k tokens")
    assert rows(shown)["today"] == "0 tokens, no limit"


def test_the_forecast_is_not_cut_and_a_closed_budget_is_called_so() -> None:
    spend = SpendView(tokens=265_000, tokens_cap=2_300_000, reached_at=NOW + 7.5 * 3600)
    narrow = msgspec.structs.replace(picture((packet(),)), spend=spend)
    assert rows(narrow, 40)["today"] == "265 k of 2.3 M, cap in 7 h"
    closed = SpendView(tokens=126_000, tokens_cap=1, closed=True, full="today's budget is closed")
    assert rows(msgspec.structs.replace(narrow, spend=closed), 40)["today"] == "126 k tokens, budget closed"


def test_a_session_that_waits_for_budget_says_so() -> None:
    tail = (TaskEvent(iso(NOW - 5), "waiting", "today's budget has no room", data={"budget": True}),)
    spec = Spec(id="loop-000008", objective="x", role=agent.ROLE)
    found = rows(picture((packet(),), TaskView(spec, Status.WAITING, tail=tail)))
    assert found["now"] == "waits for budget  today's budget has no room"


def test_the_wake_state_names_what_was_ordered() -> None:
    text = wake_text(packet(ordered=("tsk-a: look",), wake_state="I looked."))
    assert "## Ordered\nTheir results come in with a later loop.\n- tsk-a: look\n" in text
    assert "Nothing is waiting" not in text
    assert "## Next\nNothing is waiting." in wake_text(packet(wake_state="I looked."))


async def test_pane_2_counts_what_goes_on(open_room: Any, busy_snapshot: Snapshot) -> None:
    views = (task("tsk-a", Status.RUNNING, 1486), task("tsk-b", Status.DONE, 1486), *busy_snapshot.tasks)
    async with open_room(msgspec.structs.replace(busy_snapshot, tasks=views), size=(160, 50)) as room:
        assert "Tasks of the agent still running: 1 task" in room.pane("wake").text


async def test_enter_on_the_loop_opens_its_packet(open_room: Any, busy_snapshot: Snapshot) -> None:
    last = packet(
        1486, came_in=("a signal",), done=("a report",), ordered=("tsk-a: look",), decided=("to look",),
        abandoned=(LeftOut("the port", "no answer"),), decided_against=(LeftOut("a rewrite", "too dear"),),
        made=(Artifact("report", "", "disk"),), usage=Usage(900, 100, 0.01),
    )  # fmt: skip
    async with open_room(msgspec.structs.replace(busy_snapshot, packets=(last,))) as room:
        await room.press("1")
        assert "enter open" in room.footer
        await room.press("enter")
        for words in ("Loop 1486", "a signal", "a report", "tsk-a: look", "to look", "no answer", "too dear", "disk"):
            assert words in room.text
        await room.press("escape", "2", "enter")
        assert len(room.app.screen_stack) == 1


async def test_enter_before_the_first_loop_says_so(open_room: Any, empty_snapshot: Snapshot) -> None:
    async with open_room(empty_snapshot) as room:
        await room.press("1", "enter")
        assert "no loop has ended yet" in room.footer
