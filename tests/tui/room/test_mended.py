"""What once went wrong in the room, pressed as it was pressed then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from lumen_rows import each_row

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.liveness import EngineLife, EngineView
from lumen_tui.model.problem import Problem
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.snapshot import Attention, Need, Snapshot
from lumen_tui.model.tasks import Exit, Status, TaskEvent
from lumen_tui.model.times import iso
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.tui import chrome
from lumen_tui.tui import room as room_module
from lumen_tui.tui.bridge import reason_first
from lumen_tui.tui.commands import BY_ACTION
from lumen_tui.tui.handlers import running
from lumen_tui.tui.kit.query import indices, parse
from lumen_tui.tui.kit.sheets import Rows
from lumen_tui.tui.screens.attention import AttentionScreen

NOW = 1_800_000_000.0


async def test_a_notice_goes_away_and_the_room_is_left_with_0(open_room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome, "_SAID_FOR", 0.05)
    async with open_room() as room:
        await room.pane("discoveries").focus().press("l")
        await room.until(lambda: room.port.asked and room.app.room.around.notice is None)
        assert "triage.keep done" not in room.footer
        await room.press("q")
        assert (room.app.return_value, room.app.return_code) == (0, 0)


async def test_an_open_task_follows_what_its_worker_does(open_room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_room() as room:
        await room.pane("workers").focus().press("j", "enter")
        assert "write_result" in room.text
        tasks = list(room.port.now_shown.tasks)
        said = TaskEvent(at=iso(NOW), kind="call", text="the newest step", tool="glob")
        tasks[1] = msgspec.structs.replace(tasks[1], tail=(*tasks[1].tail, said))
        room.port.change(tasks=tuple(tasks))
        await room.until(lambda: "the newest step" in room.text)


async def test_an_open_list_of_needs_follows_too(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room() as room:
        await room.press("exclamation_mark")
        assert "Needs you · 3" in room.text
        room.port.change(attention=busy_snapshot.attention[1:])
        await room.until(lambda: "Needs you · 2" in room.text)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_filter_is_seen_before_anything_is_typed(open_room: Any, size: tuple[int, int]) -> None:
    async with open_room(size=size) as room:
        await room.pane("discoveries").focus().press("slash")
        assert room.footer.startswith(" /")
        assert "!without" in room.footer
        await room.press("escape")
        assert "p promote" in room.footer


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_zoomed_decay_pane_shows_its_list(open_room: Any, size: tuple[int, int]) -> None:
    async with open_room(size=size) as room:
        await room.press("6", "z")
        for title in ("API changed", "Token refresh", "OTel propagates", "Zod over"):
            assert title in room.text


async def test_a_running_time_moves_as_soon_as_a_task_starts(
    open_room: Any, busy_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room_module, "_SLOW", 600.0)
    monkeypatch.setattr(room_module, "_FAST", 0.02)
    ended = tuple(task for task in busy_snapshot.tasks if task.status.ended)
    async with open_room(msgspec.structs.replace(busy_snapshot, tasks=ended)) as room:
        running = [task for task in busy_snapshot.tasks if task.status is Status.RUNNING]
        room.port.change(tasks=(*running, *ended))
        await room.until(lambda: "0:41" in room.pane("workers").text)
        room.app.clock = lambda: NOW + 20
        await room.until(lambda: "1:01" in room.pane("workers").text)


async def test_the_words_below_the_workers_are_of_the_selected_task(open_room: Any) -> None:
    async with open_room() as room:
        pane = room.pane("workers").focus()
        await room.settle()
        assert "14 entries" not in pane.text, "the first one has said nothing yet"
        await pane.press("j")
        assert "14 entries" in pane.text
        await pane.press("j")
        assert "14 entries" not in pane.text
        await room.press("g", "4")
        assert "14 entries" in pane.text, "nothing is selected here now: what runs is shown"


async def test_a_worker_that_talks_on_has_its_words_painted_every_ten_seconds(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    async with open_room() as room:
        pane = room.pane("workers").focus()
        await pane.press("j")
        assert "14 entries" in pane.text
        talking = next(task for task in busy_snapshot.tasks if task.status is Status.RUNNING and len(task.tail) > 1)
        said = (*talking.tail, TaskEvent(kind="text", text="and on it goes", at=talking.tail[-1].at))
        more = msgspec.structs.replace(talking, tail=said)
        room.port.change(tasks=tuple(more if task is talking else task for task in busy_snapshot.tasks))
        await room.settle()
        assert "and on it goes" not in pane.text
        room.app.clock = lambda: NOW + 10
        await room.until(lambda: "and on it goes" in pane.text)


def driven_by(snapshot: Snapshot, pid: int) -> Snapshot:
    beat = msgspec.structs.replace(snapshot.engine.heartbeat, pid=pid)
    return msgspec.structs.replace(snapshot, engine=EngineView(EngineLife.ALIVE, beat))


async def test_an_engine_is_called_ours_only_where_it_drives(
    open_room: Any, busy_snapshot: Snapshot, child: Any
) -> None:
    async with open_room(driven_by(busy_snapshot, child.pid), engine=child) as room:
        assert "engine: local" in room.header
        room.port.change(engine=driven_by(busy_snapshot, child.pid + 1).engine)
        await room.until(lambda: "engine: local" not in room.header)
        await room.press("q")
        assert room.app.return_value == 0


async def test_a_failed_task_is_put_aside_and_comes_back(open_room: Any, tmp_path: Path) -> None:
    port = RemotePort(tmp_path / "state", "someone")
    Layout(port.root).create()
    task_id = port.submit(NewTask(objective="fetch the page")).target
    exit_code = Exit(task_id, "failed", iso(NOW), reason="429, gave up", seconds=3.0)
    files.replace(Layout(port.root).task(task_id) / "exit.json", msgspec.json.encode(exit_code))
    async with open_room(port=port) as room:
        await room.until(lambda: "1 needs you" in room.header)
        await room.pane("workers").focus().press("d")
        await room.until(lambda: "nothing needs you" in room.header)
        await room.press("u")
        await room.until(lambda: "1 needs you" in room.header)
        await room.press("exclamation_mark", "d")
        await room.until(lambda: "Needs you · 0" in room.text)


async def test_an_engine_that_is_gone_cannot_be_put_aside_but_started(
    open_room: Any, busy_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, child: Any
) -> None:
    started: list[Path] = []
    monkeypatch.setattr(running, "start_engine", lambda root: started.append(root) or child)
    gone = Attention(Need.ENGINE, "engine", "the engine crashed")
    engine = EngineView(EngineLife.NONE, busy_snapshot.engine.heartbeat)
    async with open_room(msgspec.structs.replace(busy_snapshot, engine=engine, attention=(gone,))) as room:
        await room.press("B")
        assert "ctrl+e starts one" in room.footer
        await room.press("exclamation_mark", "d")
        assert "cannot be dismissed" in room.text
        assert room.port.asked == []
        await room.press("enter")
        await room.until(lambda: started == [Path("/home/someone/state")])
        await room.until(lambda: "engine is starting" in room.footer)


async def test_what_was_typed_for_a_task_is_there_again(open_room: Any) -> None:
    async with open_room() as room:
        await room.press("t", *"measure", "escape")
        assert "New task" not in room.text
        await room.press("t")
        assert "measure" in room.text
        room.port.refusal = "/home/someone/state/tasks/.x.tmp/spec.json: the disk is full; nothing was written"
        await room.press("enter")
        await room.until(lambda: "task.new" in room.footer or "disk is full" in room.footer)
        room.port.refusal = ""
        await room.press("t", "f2")
        assert room.port.asked[0][1]["objective"] == "measure"
        await room.press("t")
        assert "measure" not in room.text


def test_the_reason_stands_before_what_was_tried() -> None:
    full = "/tmp/s/tasks/.tsk-1.tmp/spec.json: the disk is full; nothing was written"
    assert reason_first("task.new", full) == "The disk is full; nothing was written (task.new)"
    assert reason_first("undo", "no: not now") == "No: not now (undo)"


@pytest.mark.parametrize("width", [80, 120])
async def test_the_header_has_room_for_the_brain_and_the_budget(open_room: Any, width: int) -> None:
    async with open_room(size=(width, 30)) as room:
        assert "offline" in room.header
        assert "61 k of 100 k tokens" in room.header
        assert "WAITING on you" in room.header


async def test_problems_are_counted_once(open_room: Any, busy_snapshot: Snapshot) -> None:
    problem = Problem("lumen.toml:7", "not a number")
    need = Attention(Need.PROBLEM, problem.where, problem.what)
    snapshot = msgspec.structs.replace(busy_snapshot, problems=(problem,), attention=(need,))
    async with open_room(snapshot) as room:
        assert "1 needs you" in room.header
        assert "1 problem" not in room.header


async def test_the_footer_offers_what_works(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("workers").focus().press("j")
        assert "c cancel" in room.footer
        assert "R retry" not in room.footer
        await room.press("G")
        assert "c cancel" not in room.footer
        assert "R retry" in room.footer


async def test_ctrl_c_says_how_to_leave(open_room: Any) -> None:
    async with open_room() as room:
        await room.press("ctrl+c")
        assert "q leaves" in room.footer


class Lines:
    """Rows that are their own words."""

    def words(self, row: str) -> str:
        return row

    def fields(self, row: str) -> dict[str, str]:
        return {}


@each_row(
    ("text", "found"),
    [("zzqq1", [0]), ("zzqq9", [0, 1, 2]), ("largest", [3]), ("lsrgest", [3]), ("zzqq !zzqq2", [0, 2])],
)
def test_what_stands_there_comes_before_what_is_alike(text: str, found: list[int]) -> None:
    rows = ["task zzqq1", "task zzqq2", "task zzqq3", "the largest files"]
    assert indices(parse(text), rows, Lines(), 0, len(rows)) == found


async def test_help_lists_what_works_first(open_room: Any) -> None:
    async with open_room() as room:
        await room.press("question_mark")
        listed = [command.action for command in room.app.screen.order("")]
        refused = [room.app.room.why_not(BY_ACTION[action]) != "" for action in listed]
        assert refused == sorted(refused)
        assert any(refused)


async def test_ages_in_an_open_list_go_on_with_the_rooms_clock(open_room: Any) -> None:
    async with open_room() as room:
        await room.press("exclamation_mark")
        sheet = room.app.screen
        assert isinstance(sheet, AttentionScreen)
        assert isinstance(sheet.rows.view, Rows)
        room.app.clock = lambda: NOW + 7200
        room.app.room._tick()
        assert sheet.rows.view.now == NOW + 7200
