"""The room as pictures: empty, busy and in trouble, with a clock that stands still. `make snap` accepts new ones."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lumen_tui.model.problem import Problem
from lumen_tui.model.snapshot import EngineLife, EngineView, Snapshot


@pytest.fixture
def trouble(busy_snapshot: Snapshot) -> Snapshot:
    """An engine that hangs, a broken file, a folder that cannot be written."""
    engine = EngineView(EngineLife.HUNG, busy_snapshot.engine.heartbeat, "in phase beating for 4 m 12 s")
    problems = (Problem("lumen.toml:7", "workers.limit: Expected `int`, got `str`", "the rest is in force"),)
    return msgspec.structs.replace(
        busy_snapshot, engine=engine, problems=problems, read_only="/home/someone/state is read-only"
    )


async def settled(pilot: Any) -> None:
    for _ in range(4):
        await pilot.pause(0.03)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
@pytest.mark.parametrize("state", ["empty_snapshot", "busy_snapshot", "trouble"])
def test_the_room(snap_compare, frozen_room, request, state, size):
    assert snap_compare(frozen_room(request.getfixturevalue(state)), terminal_size=size, run_before=settled)


def test_the_room_with_a_third_column(snap_compare, frozen_room, busy_snapshot):
    assert snap_compare(frozen_room(busy_snapshot), terminal_size=(200, 50), run_before=settled)


def test_the_room_in_lean_mode(snap_compare, frozen_room, busy_snapshot):
    assert snap_compare(frozen_room(busy_snapshot, lean=True), terminal_size=(120, 40), run_before=settled)
