"""The archive behind the live tasks: it is read where somebody looks at it, and nowhere else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import Spec, Status, TaskView


class Archive(tuple[TaskView, ...]):
    """Live tasks, and one that stands for the archive: nobody may look at what comes behind it."""

    def __iter__(self) -> Any:
        yield from super().__iter__()
        yield TaskView(spec=Spec(id="tsk-old", objective="old"), status=Status.DONE, archived=True)
        pytest.fail("the archive was read through")


async def test_several_tasks_are_tried_again_without_a_look_at_the_archive(desk: Any, open_room: Any) -> None:
    for number in range(2):
        desk.ended(desk.task(f"part {number}"))
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 2")
        sheet = room.app.screen
        sheet.snapshot = _with(sheet.snapshot)
        await room.press("space", "space", "R")
        await room.sees("Nothing needs you.")


def _with(snapshot: Snapshot) -> Snapshot:
    return msgspec.structs.replace(snapshot, tasks=Archive(snapshot.tasks))


async def test_what_may_start_after_a_kill_is_counted_to_the_end(desk: Any, open_room: Any) -> None:
    for number in range(70):
        desk.task(f"part {number}")
    desk.do("kill", reason="too much")
    async with open_room(desk) as room:
        await room.press("ctrl+k")
        await room.sees("70 queued tasks may start")
