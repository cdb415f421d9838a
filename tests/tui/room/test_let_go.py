"""Screens that were closed leave nothing behind: a room stands open for weeks."""

from __future__ import annotations

import gc
import os
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lumen_quiet import MOST_ROOMS
from textual._styles_cache import StylesCache
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.snapshot import Snapshot

_OF_A_ROOM = 9  # descriptors: the journals that it follows, and its watch
_HELD = (StylesCache, Screen, Widget, Strip)


def held() -> Counter[str]:
    """How many widgets there are, and what was drawn of them."""
    gc.collect()
    return Counter(kind.__name__ for thing in gc.get_objects() for kind in _HELD if isinstance(thing, kind))


async def test_screens_that_were_opened_and_closed_are_let_go_with_all_they_drew(open_room: Any) -> None:
    opens = ("question_mark", "colon", "exclamation_mark", "t") * 2
    async with open_room() as room:
        counts = []
        for _ in range(3):
            for key in opens:
                await room.press(key, "escape")
            assert room.app.screen is room.app.room
            counts.append(held())
        grown = counts[2] - counts[1]
        assert grown["Screen"] <= 1  # the last one may be on its way
        assert grown["Widget"] < len(opens)  # the last one's may be on their way
        assert grown["StylesCache"] < len(opens)
        assert grown["Strip"] < room.app.size.height


async def test_a_snapshot_that_comes_while_the_room_is_taken_apart_is_dropped(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    async with open_room() as room:
        room.app.exit(0)
        await room.app.room.query("#strip").remove()
        room.app.show(msgspec.structs.replace(busy_snapshot, taken=busy_snapshot.taken + 1))
        assert room.app.room.snapshot.taken < busy_snapshot.taken + 1


@pytest.fixture(scope="module")
def descriptors() -> list[int]:
    """How many were open after each room of this module's tests."""
    return []


@pytest.mark.parametrize("_time", range(24))
async def test_rooms_of_tests_are_freed_with_the_journals_that_they_follow(
    state: Path, open_room: Any, descriptors: list[int], _time: int
) -> None:
    async with open_room(port=RemotePort(state, "me")) as room:
        await room.until(lambda: len(room.app.room.snapshot.discoveries) == 4)
        descriptors.append(len(os.listdir("/proc/self/fd")))
    assert descriptors[-1] < descriptors[0] + 4 * MOST_ROOMS * _OF_A_ROOM  # of 24 rooms
