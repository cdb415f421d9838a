"""The work units in the room: a strip below the left column, and where a promoted discovery ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.progress import named_percent
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.requests.work import ClaimWorkUnit, NewWorkUnit
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.work import WorkUnit
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.panes.units import UnitsStrip


def unit(number: int, status: str, title: str = "Settings page", lane: str = "UI") -> WorkUnit:
    return WorkUnit(id=f"WU-{number:03d}", title=title, lane=lane, status=status)


UNITS = (unit(100, "in_progress"), *(unit(number, "ready") for number in (101, 102, 103)), unit(104, "blocked"))


def with_units(snapshot: Snapshot, *units: WorkUnit) -> Snapshot:
    return msgspec.structs.replace(snapshot, work=units, work_percent={"WU-100": 62})


async def test_what_is_under_way_and_how_many_wait_stand_below_the_left_column(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    async with open_room(with_units(busy_snapshot, *UNITS)) as room:
        await room.sees("● WU-100   UI     Settings page", "62 %", "○ 3 ready · 1 blocked", "W all")
        assert all(f" {number} " in room.text for number in range(1, 7)), "the six panes stay"


async def test_few_lines_have_it_on_one(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(with_units(busy_snapshot, *UNITS), size=(100, 30)) as room:
        await room.sees("Work units · 1 under way · 3 ready")
        assert "WU-100 UI" not in room.text


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_a_narrow_window_has_none(open_room: Any, busy_snapshot: Snapshot, size: tuple[int, int]) -> None:
    async with open_room(with_units(busy_snapshot, *UNITS), size=size) as room:
        assert not room.app.room.query_one(UnitsStrip).display


async def test_without_open_units_it_is_gone(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(with_units(busy_snapshot, unit(1, "done"))) as room:
        assert not room.app.room.query_one(UnitsStrip).display
        room.port.change(work=UNITS)
        await room.sees("3 ready")
        room.port.change(work=())
        await room.until(lambda: "3 ready" not in room.text)


async def test_more_than_three_are_counted(open_room: Any, busy_snapshot: Snapshot) -> None:
    several = [unit(number, "in_progress", title="x" * 300) for number in range(5)]
    async with open_room(with_units(busy_snapshot, *several)) as room:
        await room.sees("+2 under way")


@pytest.mark.parametrize(
    ("text", "percent"),
    [("80 % done, tests left", 80), ("at 62%", 62), ("2.5 % slower", None), ("400 % more", None), ("done", None)],
)
def test_a_percentage_is_taken_from_what_was_said(text: str, percent: int | None) -> None:
    assert named_percent(text) == percent


def test_the_newest_signal_that_names_one_counts(tmp_path: Path) -> None:
    root = tmp_path / "state"
    Layout(root).create()
    port = RemotePort(root, "me")
    port.submit(NewWorkUnit(title="Settings page"))
    port.submit(SendSignal(message="at 20 %", wu_id="WU-001"))
    assert port.snapshot().work_percent == {}, "nobody works on it"
    port.submit(ClaimWorkUnit(wu_id="WU-001"))
    for message in ("at 40 %", "at 60 %", "tests left"):
        port.submit(SendSignal(message=message, wu_id="WU-001"))
    assert port.snapshot().work_percent == {"WU-001": 60}


async def test_a_promoted_discovery_ends_among_the_work_units(open_room: Any, state: Path) -> None:
    port = RemotePort(state, "me")
    port.submit(NewWorkUnit(title="An earlier one", lane="Core"))
    async with open_room(port=port) as room:
        await room.sees("something noticed, number 0")
        await room.press("5", "p")
        await room.sees("Core")
        await room.press("enter")
        await room.sees("promoted to WU-002 in Core; W shows it")
        await room.press("W")
        await room.sees("WU-002", "checkpoint")
        await room.press("enter")
        await room.sees("was noticed as", "something noticed, number")


async def test_a_search_for_its_number_opens_its_page(open_room: Any, state: Path) -> None:
    port = RemotePort(state, "me")
    port.submit(NewWorkUnit(title="Settings page", lane="UI", acceptance=["it names what is in force"]))
    port.submit(NewWorkUnit(title="Other things"))
    port.submit(SendSignal(message="WU-001 is nearly done", wu_id="WU-001"))
    async with open_room(port=port) as room:
        await room.press("S", *"WU-001")
        await room.until(lambda: "Settings page" in room.text and "nearly done" in room.text)
        await room.press("enter")
        await room.sees("accepted when", "it names what is in force")
        await room.press("escape")
        await room.press(*(["backspace"] * 6), *"other things")
        await room.until(lambda: "WU-002" in room.text and "Settings page" not in room.text)


async def test_an_open_list_follows_what_others_do(open_room: Any, state: Path) -> None:
    port = RemotePort(state, "me")
    port.submit(NewWorkUnit(title="Settings page", lane="UI"))
    async with open_room(port=port) as room:
        await room.press("W")
        await room.sees("WU-001   ready")
        RemotePort(state, "ana").submit(ClaimWorkUnit(wu_id="WU-001"))
        await room.sees("WU-001   in progress", "ana")
        RemotePort(state, "ana").submit(SendSignal(message="at 30 %", wu_id="WU-001"))
        await room.sees("30 %")
        await room.press("enter")
        await room.sees("claimed by ana", "at 30 %")
        RemotePort(state, "ana").submit(NewTask(objective="Draw the form", wu_id="WU-001"))
        await room.sees("queued, researcher: Draw the form")
