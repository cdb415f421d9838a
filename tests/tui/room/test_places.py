"""Back and forward through where one was in the room, and the saved filters of a pane."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.config import Config
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.handlers.places import RoomPlace, Visits


def scope(room: Any) -> str:
    return str(room.app.room.current.scope)


def test_places_are_kept_as_a_browser_keeps_them() -> None:
    visits = Visits()
    for name in ("workers", "signals", "decay"):
        visits.came(RoomPlace(name, "1"))
    visits.came(RoomPlace("decay", "7"))
    assert visits.step(-1) == RoomPlace("signals", "1") and visits.step(1) == RoomPlace("decay", "7")
    visits.step(-1)
    visits.came(RoomPlace("discoveries", "2"))
    assert not visits.can_step(1) and visits.step(-1) == RoomPlace("signals", "1")
    for number in range(300):
        visits.came(RoomPlace(f"pane {number}", ""))
    assert len(visits._places) == 100 and visits.can_step(-99)


async def test_back_goes_to_the_pane_and_row_before_and_forward_returns(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    async with open_room(busy_snapshot) as room:
        await room.press("3", "j", "j", "5", "j", "4")
        await room.press("left_parenthesis")
        assert scope(room) == "discoveries"
        assert room.app.room.current.rows.selected.node.id == "mem-00000001"
        await room.press("left_parenthesis")
        assert scope(room) == "workers"
        assert room.app.room.current.rows.selected.id == "tsk-7f3m0000"
        await room.press("right_parenthesis", "right_parenthesis")
        assert scope(room) == "signals"
        await room.press("right_parenthesis")
        assert "there is nothing further" in room.footer


async def test_a_screen_is_a_place_too(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(busy_snapshot) as room:
        await room.press("5", "exclamation_mark")
        await room.sees("Needs you ·")
        await room.press("left_parenthesis")
        await room.until(lambda: len(room.app.screen_stack) == 1 and scope(room) == "discoveries")
        await room.press("right_parenthesis")
        await room.sees("Needs you ·")
        await room.press("escape")
        await room.until(lambda: len(room.app.screen_stack) == 1)
        await room.press("left_parenthesis")
        await room.sees("Needs you ·")


async def test_a_form_is_left_by_its_own_key(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(busy_snapshot) as room:
        await room.press("5", "t")
        await room.sees("New task")
        await room.press("tab", "left_parenthesis")
        assert "New task" in room.text


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_filter_is_saved_under_a_name_and_taken_again(
    open_room: Any, state: Path, size: tuple[int, int]
) -> None:
    operator, port = Layout(state).operator, RemotePort(state, "me")
    port.submit(CreateNode(content="A zebra crosses", priority="P2"))
    async with open_room(port=port, size=size) as room:
        await room.press("5")
        await room.sees("something noticed, number 3")
        await room.press("apostrophe")
        await room.sees("No saved filters yet")
        await room.press("t")
        await room.sees("No filter narrows the list now")
        await room.press("escape", "slash", *"zebra", "enter", "apostrophe")
        await room.sees("now: zebra")
        await room.press("t")
        await room.sees("Save the filter")
        await room.press(*"../x", "enter")
        await room.sees("is not usable")
        await room.press("ctrl+a", "ctrl+k", *"second", "enter")
        await room.until(lambda: operator.exists())
        assert tomllib.loads(operator.read_text())["filters"] == {"discoveries": {"second": "zebra"}}
        await room.until(lambda: "second" in room.text and "Save the filter" not in room.text)
        await room.press("escape", "slash", *(["backspace"] * 8), "enter")
        await room.sees("something noticed, number 3")
        await room.press("apostrophe")
        await room.sees("second")
        await room.press("enter")
        await room.until(lambda: "A zebra crosses" in room.text and "noticed, number" not in room.text)
        await room.press("apostrophe", "d")
        await room.until(lambda: not operator.exists())
        await room.press("u")
        await room.until(lambda: operator.exists())


async def test_hostile_filters_are_shown_as_text(open_room: Any, busy_snapshot: Snapshot) -> None:
    config = Config(filters={"workers": {"[/]x": "\x1b[2J[@click=app.quit]y"}})
    async with open_room(msgspec.structs.replace(busy_snapshot, config=config, read_only="no")) as room:
        await room.press("3", "apostrophe")
        await room.sees("[/]x", "[@click=app.quit]y")
        assert "\x1b" not in room.text
        await room.press("d")
        await room.sees("No.")
