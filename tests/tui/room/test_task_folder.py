"""Where the names in a task's objective count from, as the form sets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lumen_tui.tui.kit.fields import TextField


async def test_a_task_made_in_the_room_counts_names_from_where_the_room_was_started(
    open_room: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path)
    async with open_room() as room:
        await room.press("t", *"measure", "f2")
        assert room.port.asked[0][1]["folder"] == str(tmp_path)
        await room.press("t", *"again")
        line = room.app.screen.query_one("#folder", TextField)
        line.value = "shop"
        await room.press("f2")
        assert room.port.asked[1][1]["folder"] == str(tmp_path / "shop")


async def test_a_folder_that_is_not_there_is_said_and_none_is_taken(open_room: Any, tmp_path: Path) -> None:
    async with open_room() as room:
        await room.press("t", *"measure")
        line = room.app.screen.query_one("#folder", TextField)
        line.value = f"{tmp_path}/gone"
        await room.press("f2")
        assert "There is no such folder" in room.text and not room.port.asked
        line.value = ""
        await room.press("f2")
        assert "folder" not in room.port.asked[0][1]
