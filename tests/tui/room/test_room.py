"""The room, used as a person uses it."""

from __future__ import annotations

import threading
from typing import Any

import lumen_quiet
import msgspec
import pytest
from lumen_until import SECONDS

from lumen_tui.model.config import Config
from lumen_tui.model.liveness import EngineLife, EngineView
from lumen_tui.model.records import SignalRow
from lumen_tui.model.relay import Box
from lumen_tui.model.requests.signals import ReadSignals
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.tui.kit.sheets import act
from lumen_tui.tui.screens.relays import RelayScreen

NOW = 1_800_000_000.0


async def test_the_six_panes_show_their_rows(open_room: Any) -> None:
    async with open_room() as room:
        assert "disk-usage.md" in room.pane("loop").text
        assert "Triage 3 discoveries" in room.pane("wake").text
        assert "silent 2:10" in room.pane("workers").text
        assert "80 % done" in room.pane("signals").text
        assert "Race condition" in room.pane("discoveries").text
        assert "in 6 h" in room.pane("decay").text
        assert "3 need you" in room.header
        assert "WAITING on you · 1 worker at work · next wake in 3 min" in room.header


async def test_an_empty_room_says_what_fills_it(open_room: Any, empty_snapshot: Snapshot) -> None:
    async with open_room(empty_snapshot) as room:
        assert "t gives a worker" in room.pane("workers").text
        assert "none yet; t gives it a task" in room.pane("loop").text
        assert "i sends one" in room.pane("signals").text
        assert "DOWN no engine" in room.header
        assert "nothing needs you" in room.header


async def test_numbers_and_tab_move_the_focus_and_the_footer_follows(open_room: Any) -> None:
    async with open_room() as room:
        await room.press("5")
        assert room.app.room.current.scope == "discoveries"
        assert "p promote" in room.footer
        await room.press("tab")
        assert room.app.room.current.scope == "decay"
        assert "K pin" in room.footer
        await room.press("shift+tab")
        assert room.app.room.current.scope == "discoveries"


async def test_keep_acts_on_the_row_under_the_cursor(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("discoveries").focus().press("j", "l", "enter")
        assert room.port.asked == [("triage.keep", {"node_ids": ["mem-00000001"], "days": 7.0})]
        assert "triage.keep done" in room.footer


async def test_marked_rows_are_acted_on_together_and_unmarked_after(open_room: Any) -> None:
    async with open_room() as room:
        pane = room.pane("discoveries").focus()
        await pane.press("space", "space", "l", "2")
        assert room.port.asked[0][1]["node_ids"] == ["mem-00000000", "mem-00000001"]
        assert pane.marked == []


async def test_archive_asks_for_a_reason(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("discoveries").focus().press("a", "r", *"twice", "enter")
        assert room.port.asked == [("triage.archive", {"node_ids": ["mem-00000000"], "reason": "twice"})]


async def test_merge_shows_both_before_it_takes_the_near_double(open_room: Any, busy_snapshot: Snapshot) -> None:
    first, *rest = busy_snapshot.discoveries
    near = msgspec.structs.replace(first, like=("mem-00000002", 93))
    async with open_room(msgspec.structs.replace(busy_snapshot, discoveries=(near, *rest))) as room:
        await room.pane("discoveries").focus().press("m")
        assert "Merge 2 discoveries" in room.text
        assert "stays   P1  Race condition" in room.text
        assert "closed  P2  Retry budget" in room.text
        assert "P1; of WU-042, related to WU-100; tagged auth race-condition" in room.text
        await room.press("enter")
        assert room.port.asked == []
        await room.press("m", "m", "y")
        assert room.port.asked == [("triage.merge", {"node_ids": ("mem-00000002",), "into": "mem-00000000"})]


async def test_a_near_double_that_is_found_late_stands_in_the_list_and_where_the_row_is_in_full(
    open_room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_room(size=(200, 50)) as room:
        monkeypatch.setattr(room.port, "like", lambda node_id: ("mem-00000002", 93))
        pane = room.pane("discoveries").focus()
        await pane.press("j")
        await room.until(lambda: "93 %" in pane.text)
        await room.settle()
        assert "93 %" in room.region_text(room.app.room.detail.region)


@pytest.mark.parametrize(
    ("keys", "stays", "closed"),
    [
        ("space space m y", "mem-00000000", ("mem-00000001",)),  # not the third, under the cursor
        ("space space m j y", "mem-00000001", ("mem-00000000",)),
        ("space space k m y", "mem-00000001", ("mem-00000000",)),
        ("j j space k k m y", "mem-00000001", ("mem-00000002",)),  # the one marked, and the one under the cursor
        ("j space space space m y", "mem-00000001", ("mem-00000002", "mem-00000003")),
    ],
)
async def test_merge_is_among_what_was_marked(open_room: Any, keys: str, stays: str, closed: tuple[str, ...]) -> None:
    async with open_room() as room:
        await room.pane("discoveries").focus().press(*keys.split())
        assert room.port.asked == [("triage.merge", {"node_ids": closed, "into": stays})]


async def test_a_command_that_cannot_be_done_says_why(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("discoveries").focus().press("j", "m")
        assert room.port.asked == []
        assert "mark duplicates" in room.footer


async def test_workers_are_cancelled_and_retried(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("workers").focus().press("j", "c")
        assert room.port.asked == [("task.cancel", {"task_id": "tsk-7f2k0000"})]
        await room.press("R")
        assert "still running" in room.footer
        await room.press("G", "c")
        assert "has ended" in room.footer
        await room.press("R")
        assert room.port.asked[-1] == ("task.retry", {"task_id": "tsk-7f0b0000"})


async def test_signals_are_read(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("signals").focus().press("a", "A")
        assert room.port.asked == [("signal.read", {"signal_ids": ["sig-00000000"]}), ("signal.read_all", {})]


async def test_decay_pins_and_touches(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("decay").focus().press("K", "T", "u")
        assert [verb for verb, _ in room.port.asked] == ["decay.pin", "decay.touch", "undo"]


async def test_what_was_refused_is_told(open_room: Any) -> None:
    async with open_room() as room:
        room.port.refusal = "somebody else changed it 12 s ago"
        await room.press("u")
        assert "somebody else changed it" in room.footer


async def test_a_read_only_room_refuses_with_the_reason(open_room: Any, busy_snapshot: Snapshot) -> None:
    snapshot = msgspec.structs.replace(busy_snapshot, read_only="the disk is mounted read-only")
    async with open_room(snapshot) as room:
        await room.pane("discoveries").focus().press("l")
        assert room.port.asked == []
        assert "mounted read-only" in room.footer


async def test_the_filter_narrows_while_it_is_typed_and_escape_drops_it(open_room: Any) -> None:
    async with open_room() as room:
        pane = room.pane("discoveries").focus()
        await pane.press("slash", *"token", "enter")
        assert "Refresh token" in pane.text
        assert "Race condition" not in pane.text
        assert "1 of 1 found · 7 open · /" in pane.text
        await pane.press("escape")
        assert "Race condition" in pane.text


async def test_zoom_gives_the_pane_the_screen_and_escape_takes_it_back(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("signals").focus().press("z")
        assert "Loop" not in room.text
        assert "agent-c" in room.text
        await room.press("escape")
        assert "1 Loop" in room.text


async def test_n_goes_to_what_needs_a_person(open_room: Any) -> None:
    async with open_room() as room:
        await room.press("n", "n")
        assert "Needs you · 2 of 3" in room.text
        assert "R retry" in room.footer
        await room.press("enter")
        assert room.app.room.current.scope == "workers"
        assert room.app.room.current.rows.selected.id == "tsk-7ee80000"
        assert room.app.room.current.target.has_focus
        await room.press("N", "N")
        assert "Needs you · 1 of 3" in room.text
        await room.press("escape")
        assert room.app.room.current.target.has_focus


async def test_a_change_is_shown_and_the_cursor_stays_on_its_row(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room() as room:
        pane = room.pane("discoveries").focus()
        await pane.press("j", "j")
        room.port.change(discoveries=busy_snapshot.discoveries[1:])
        await room.settle()
        await room.settle()
        assert "Race condition" not in pane.text
        assert room.app.room.current.rows.selected.node.id == "mem-00000002"


async def test_a_slip_in_the_name_of_a_key_is_told(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(msgspec.structs.replace(busy_snapshot, config=Config(keys={"zom": "f4"}))) as room:
        await room.until(lambda: "[keys] has no command zom; near it: zoom" in room.text)


async def test_keys_can_be_moved(open_room: Any, busy_snapshot: Snapshot) -> None:
    snapshot = msgspec.structs.replace(busy_snapshot, config=Config(keys={"later": "ctrl+l", "zoom": "f4"}))
    async with open_room(snapshot) as room:
        await room.pane("discoveries").focus().press("l")
        assert room.port.asked == []
        await room.press("ctrl+l", "enter")
        assert room.port.asked[0][0] == "triage.keep"
        assert "ctrl+l snooze" in room.footer


async def test_pause_becomes_resume(open_room: Any, busy_snapshot: Snapshot) -> None:
    beat = msgspec.structs.replace(busy_snapshot.engine.heartbeat, phase="paused")
    snapshot = msgspec.structs.replace(
        busy_snapshot, engine=EngineView(EngineLife.ALIVE, beat), paused={"everything": "paused by ann"}
    )
    async with open_room(snapshot) as room:
        assert "‖ PAUSED by ann" in room.header
        await room.press("P")
        assert room.port.asked == [("engine.resume", {})]


async def test_opening_a_signal_reads_it(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("signals").focus().press("enter")
        assert "Signal from agent-a" in room.text
        assert room.port.asked == [("signal.read", {"signal_ids": ["sig-00000000"]})]
        await room.press("escape")
        assert "5 Discoveries" in room.text


async def test_help_runs_what_is_chosen(open_room: Any) -> None:
    async with open_room() as room:
        await room.press("question_mark", *"zoom", "enter")
        assert room.app.room.zoomed


async def test_a_click_selects_and_a_double_click_opens(open_room: Any) -> None:
    async with open_room() as room:
        rows = room.app.room.pane("discoveries").rows
        await room.pilot.click(rows, offset=(10, 2))
        await room.settle()
        assert rows.has_focus
        assert rows.model.cursor == 2
        await room.pilot.click(rows, offset=(10, 2), times=2)
        await room.settle()
        assert "Retry budget" in room.text
        assert room.app.screen is not room.app.room


async def test_q_leaves_at_once_where_no_engine_was_started_here(open_room: Any) -> None:
    async with open_room() as room:
        await room.press("q")
        assert room.app.return_value == 0


async def test_q_asks_where_the_engine_was_started_here(open_room: Any, busy_snapshot: Snapshot, child: Any) -> None:
    beat = msgspec.structs.replace(busy_snapshot.engine.heartbeat, pid=child.pid)
    driven = msgspec.structs.replace(busy_snapshot, engine=EngineView(EngineLife.ALIVE, beat))
    async with open_room(driven, engine=child) as room:
        assert "engine: local" in room.header
        await room.press("q")
        assert room.app.return_value is None
        await room.press("c")
        assert room.port.asked[0][0] == "engine.stop"
        assert room.app.return_value == 0


@pytest.mark.parametrize("size", [(120, 40), (100, 30), (80, 24), (200, 50), (300, 80), (40, 10), (20, 6), (5, 2)])
async def test_every_size_has_a_useful_layout(open_room: Any, size: tuple[int, int]) -> None:
    async with open_room(size=size) as room:
        await room.pane("discoveries").focus().press("j")
        assert all(len(line) == size[0] for line in room.lines)
        if size >= (40, 10):
            assert "Refresh token" in room.text
            assert "3 need you" in room.header


async def test_a_narrow_room_keeps_a_line_for_each_other_pane(open_room: Any) -> None:
    async with open_room(size=(80, 24)) as room:
        await room.press("5")
        assert "3 Workers" in room.lines[3]
        assert "1 running" in room.lines[3]
        await room.pilot.click("#others", offset=(5, 2))
        await room.settle()
        assert room.app.room.current.scope == "workers"


async def test_a_wide_room_shows_the_selected_row_in_full(open_room: Any) -> None:
    async with open_room(size=(200, 50)) as room:
        await room.pane("discoveries").focus().press("j")
        assert "mem-00000001" in room.region_text(room.app.room.detail.region)


async def test_lean_is_ascii(open_room: Any) -> None:
    async with open_room(lean=True) as room:
        chrome = [line for line in room.lines if "Loop" in line or "Workers" in line]
        assert all(line.isascii() for line in chrome)
        assert room.text.isascii()


class Million:
    """Signals that are made when they are asked for, and that note which were."""

    def __init__(self, row: SignalRow) -> None:
        self.row, self.read = row, set[int]()

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> SignalRow:
        self.read.add(index)
        return msgspec.structs.replace(self.row, signal=msgspec.structs.replace(self.row.signal, id=f"sig-{index:07d}"))


async def test_of_a_million_signals_only_those_in_view_are_read(open_room: Any, busy_snapshot: Snapshot) -> None:
    signals = Million(busy_snapshot.signals[0])
    async with open_room(msgspec.structs.replace(busy_snapshot, signals=signals)) as room:
        await room.pane("signals").focus().press("G", "k", "k")
        assert "999998 of 1000000" in room.text
        assert len(signals.read) < 150


@pytest.mark.parametrize("refusal", ["", "the signal is gone"])
async def test_what_an_action_did_is_told_in_the_room_where_its_sheet_was_left(open_room: Any, refusal: str) -> None:
    async with open_room() as room:
        saved, submit = threading.Event(), room.port.submit
        room.port.submit = lambda request: saved.wait(SECONDS) and submit(request)
        room.port.refusal = refusal
        sheet = RelayScreen(room.port, NOW, list[Box])
        room.app.push_screen(sheet)
        await room.settle()
        with lumen_quiet.held(2):
            sheet.run_worker(act(sheet, room.port, ReadSignals(signal_ids=["sig-00000000"])))
            await room.press("escape")
            assert room.app.screen is room.app.room
            saved.set()
        await room.until(lambda: (refusal or "signal.read done") in room.footer)
