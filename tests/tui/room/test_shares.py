"""How the panes of a column share its lines, and how the operator moves their borders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import Spec, Status, TaskView
from lumen_tui.tui import sizes
from lumen_tui.tui.kit.held import Held
from lumen_tui.tui.panes.workers import running_time
from lumen_tui.tui.shares import EMPTY, LEAST, SteadyRows, Want, shares


def wants(*rows: int) -> list[Want]:
    return [Want(scope, count, weight) for scope, count, weight in zip("abc", rows, (5, 5, 3), strict=True)]


@pytest.mark.parametrize("height", [12, 26, 35, 90])
@pytest.mark.parametrize("rows", [(0, 0, 0), (1, 0, 0), (0, 900, 3), (4, 4, 4), (900, 900, 900), (2, 0, 60)])
def test_all_lines_are_given_and_a_pane_without_content_has_one(rows: tuple[int, ...], height: int) -> None:
    given = shares(wants(*rows), height, {})
    assert sum(given.values()) == height
    filled = [scope for scope, count in zip("abc", rows, strict=True) if count] or ["a"]
    assert all((given[scope] == EMPTY) == (scope not in filled) for scope in "abc")
    assert all(given[scope] >= LEAST for scope in filled)


def test_lines_go_to_where_the_work_is() -> None:
    assert shares(wants(2, 900, 2), 35, {}) == {"a": 4, "b": 27, "c": 4}
    assert shares(wants(900, 2, 0), 35, {}) == {"a": 30, "b": 4, "c": 1}


def test_one_row_more_moves_nothing_most_of_the_time() -> None:
    before = [shares(wants(rows, 900, 900), 35, {}) for rows in range(12, 15)]
    assert before[0] == before[1] == before[2]


def test_borders_move_as_far_as_every_pane_keeps_its_least() -> None:
    equal = shares(wants(900, 900, 900), 35, {})
    moved = shares(wants(900, 900, 900), 35, {"c": 3})
    assert moved["c"] == equal["c"] + 3
    assert sum(moved.values()) == 35
    assert shares(wants(900, 900, 900), 35, {"c": 99}) == {"a": LEAST, "b": LEAST, "c": 35 - 2 * LEAST}
    assert shares(wants(900, 900, 900), 35, {"a": -99})["a"] == LEAST
    assert shares(wants(900, 0, 0), 35, {"a": 5, "b": -5, "z": 7}) == {"a": 33, "b": EMPTY, "c": EMPTY}


def test_what_is_kept_is_read_back_and_rubbish_counts_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    sizes.save(str(tmp_path), {"workers": 3, "decay": -12, "loop": 0})
    assert sizes.load(str(tmp_path)) == {"workers": 3, "decay": -12}
    kept = tmp_path / "index" / "panes.txt"
    kept.write_bytes(b"workers 4\nworkers\n-3\nx 99\ny --2\nz 1e3\n\xd9\xa3 2\n")
    assert sizes.load(str(tmp_path)) == {"workers": 4}
    kept.write_bytes(b"\xff\xfe" * 9000)
    assert sizes.load(str(tmp_path)) == {}
    kept.unlink()
    kept.mkdir()
    sizes.save(str(tmp_path), {"workers": 3})
    assert sizes.load(str(tmp_path)) == {}


async def test_a_pane_is_made_bigger_and_smaller_and_stays_so(
    open_room: Any, busy_snapshot: Snapshot, tmp_path: Path
) -> None:
    (tmp_path / "index").mkdir()
    snapshot = msgspec.structs.replace(busy_snapshot, root=str(tmp_path))
    async with open_room(snapshot) as room:
        pane = room.pane("signals").focus()
        before = room.app.room.current.lines_given
        await pane.press("plus", "plus")
        assert room.app.room.current.lines_given == before + 2
        assert room.app.room.current.outer_size.height == before + 2
        await room.until(lambda: sizes.load(str(tmp_path)) == {"signals": 2})
    async with open_room(snapshot) as room:
        pane = room.pane("signals").focus()
        assert room.app.room.current.lines_given == before + 2
        await pane.press("minus", "minus", "minus", *["minus"] * 30)
        assert room.app.room.current.lines_given == LEAST
        assert "need their lines" in room.footer
        await pane.press("plus")
        assert room.app.room.current.lines_given == LEAST + 1
        await room.press("z", "plus")
        assert "one pane has the screen" in room.footer


async def test_a_pane_that_becomes_empty_takes_one_line_and_can_have_the_focus(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    async with open_room(busy_snapshot) as room:
        await room.press("4")
        room.port.change(signals=(), unread=0)
        await room.until(lambda: room.app.room.current.lines_given == EMPTY)
        assert "4 Signals · none; i sends one" in room.text
        assert room.app.room.current.target.has_focus
        await room.press("5", "4")
        assert room.app.room.current.target.has_focus
        room.port.change(signals=busy_snapshot.signals)
        await room.until(lambda: "agent-a" in room.text)


def test_a_pane_gives_lines_away_only_when_it_did_not_need_them_for_a_while() -> None:
    needed = SteadyRows(30.0)
    moments = ((7, 0.0), (9, 5.0), (7, 20.0), (9, 30.0), (7, 59.0))
    assert [needed.of("loop", rows, now) for rows, now in moments] == [7, 9, 9, 9, 9]
    assert needed.of("loop", 7, 60.0) == 7
    assert needed.of("loop", 0, 61.0) == 0  # an empty one at once
    assert needed.of("decay", 3, 61.0) == 3


def test_what_is_held_changes_with_the_clock_and_with_what_it_is_about() -> None:
    held: Held[int] = Held(10.0)
    moments = (("a", 101.0, 1), ("a", 109.9, 2), ("a", 110.0, 3), ("b", 111.0, 4), ("b", 119.0, 5), ("b", 120.5, 6))
    assert [held.of(about, now, lambda value=value: value) for about, now, value in moments] == [1, 1, 3, 4, 4, 6]


def test_the_times_of_all_that_runs_move_together() -> None:
    tasks = [TaskView(Spec(id="a", objective=""), Status.RUNNING, started=started) for started in (1000.0, 1003.0)]
    shown = [tuple(running_time(task, now) for task in tasks) for now in (1010.0, 1012.0, 1014.9, 1015.0)]
    assert shown == [("0:10", "0:07")] * 3 + [("0:15", "0:12")]
    assert running_time(tasks[1], 1004.0) == "0:00"
