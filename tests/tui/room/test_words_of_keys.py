"""What is said of a key names the one that the operator has."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lumen_tui.model.config import Config
from lumen_tui.model.liveness import EngineView
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.tui.commands import BY_ACTION

_KEYS = {"new_task": "f5", "send_signal": "f6", "engine": "f7", "cancel_task": "f8", "retry_task": "f9"}


@pytest.mark.parametrize(
    ("action", "said"),
    [("cancel_task", "f5 makes one"), ("answer_signal", "f6 sends one"), ("beat", "f7 starts one")],
)
async def test_a_refusal_names_the_operators_own_key(
    open_room: Any, empty_snapshot: Snapshot, action: str, said: str
) -> None:
    snapshot = msgspec.structs.replace(empty_snapshot, config=Config(keys=_KEYS), engine=EngineView())
    async with open_room(snapshot) as room:
        assert room.app.room.why_not(BY_ACTION[action]).endswith(said)


async def test_a_running_task_and_an_ended_one_name_each_others_key(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(msgspec.structs.replace(busy_snapshot, config=Config(keys=_KEYS))) as room:
        rows = room.app.room.pane("workers").rows
        rows.select_key("tsk-7f2k0000")
        assert room.app.room.why_not(BY_ACTION["retry_task"]).endswith("; f8 cancels it")
        rows.select_key("tsk-7f1a0000")
        assert room.app.room.why_not(BY_ACTION["cancel_task"]).endswith("; f9 runs it again")
        assert room.app.room.why_not(BY_ACTION["edit"]).endswith("; f9 makes a new one of it")


@pytest.mark.parametrize("pressed", [(), ("j",)])
async def test_the_cursor_goes_to_a_row_that_arrives_unless_it_was_moved_since_it_was_asked_for(
    open_room: Any, busy_snapshot: Snapshot, pressed: tuple[str, ...]
) -> None:
    async with open_room(busy_snapshot) as room:
        rows = room.app.room.pane("workers").rows
        await room.press("3")
        asked_at = rows.moves
        await room.press(*pressed)
        before = rows.selected.id
        rows.awaited.expect("tsk-new", asked_at)
        first = busy_snapshot.tasks[0]
        arrived = msgspec.structs.replace(first, spec=msgspec.structs.replace(first.spec, id="tsk-new"))
        rows.set_rows((*busy_snapshot.tasks, arrived))
        assert rows.selected.id == ("tsk-new" if not pressed else before)
