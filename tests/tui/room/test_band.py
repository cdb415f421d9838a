"""The band above the panes: what needs a person is answered where it stands, and the band goes with the last of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lumen_tui.model.snapshot import Attention, Need, Snapshot
from lumen_tui.tui.band import MOST

SIZES = [(120, 40), (100, 30), (80, 24), (60, 20), (200, 50)]


@pytest.mark.parametrize("size", SIZES)
async def test_the_band_stands_above_all_panes_and_is_gone_when_nothing_needs_anybody(
    open_room: Any, busy_snapshot: Snapshot, size: tuple[int, int]
) -> None:
    async with open_room(busy_snapshot, size=size) as room:
        row = next(place for place, line in enumerate(room.lines) if "P0 signal from agent-a" in line)
        pane = next(place for place, line in enumerate(room.lines) if "3 Workers" in line and "╭" in line)
        assert row < pane
        await room.press("n")
        room.port.change(attention=())
        await room.until(lambda: not room.app.room.band.display)
        assert "P0 signal from agent-a" not in room.text
        assert room.app.room.current.target.has_focus
        assert "nothing needs you" in room.text or size[0] < 100


async def test_three_rows_at_most_and_the_others_by_the_same_keys(open_room: Any, busy_snapshot: Snapshot) -> None:
    needs = tuple(Attention(Need.FAILED, f"tsk-{number}", f"task {number} failed") for number in range(7))
    async with open_room(msgspec.structs.replace(busy_snapshot, attention=needs)) as room:
        assert room.app.room.band.rows.size.height == MOST
        assert "Needs you · 7" in room.text
        await room.press(*["n"] * 7)
        assert "Needs you · 7 of 7" in room.text
        assert "task 6 failed" in room.text
        await room.press("n")
        assert "Needs you · 1 of 7" in room.text


async def test_a_need_is_dismissed_in_place_and_panes_keep_their_keys(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(busy_snapshot) as room:
        await room.press("5", "n", "n", "d")
        await room.until(lambda: room.port.asked and room.port.asked[-1][0] == "attention.dismiss")
        assert room.port.asked[-1][1]["targets"] == ["tsk-7ee80000"]
        await room.press("escape")
        assert room.app.room.current.scope == "discoveries"
        assert "p promote" in room.footer
        await room.press("d")
        assert len([verb for verb, _ in room.port.asked if verb == "attention.dismiss"]) == 1


async def test_a_room_that_only_looks_answers_nothing(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(msgspec.structs.replace(busy_snapshot, read_only="the disk is full")) as room:
        await room.press("n", "n", "d")
        assert "d dismiss" not in room.footer
        await room.press("R")
        assert "the disk is full" in room.text
        assert room.port.asked == []


async def test_nothing_of_the_band_is_painted_again_while_it_stays_the_same(
    open_room: Any, busy_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_room(busy_snapshot) as room:
        band, painted = room.app.room.band, list[object]()
        for widget in (band, band.rows):
            monkeypatch.setattr(widget, "refresh", lambda *regions, **_: painted.append(regions))
        band.show(busy_snapshot, band.now)
        band.tick(band.now + 0.5)
        assert painted == []
