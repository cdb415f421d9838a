"""A few seconds of `make hammer`."""

from __future__ import annotations

import shutil

import pytest


@pytest.mark.fault("R13", "random SIGKILLs to engine, workers, zygote, room and command line under load")
@pytest.mark.xdist_group("hammer")
@pytest.mark.long
def test_a_few_seconds_of_kills_leave_every_task_ended_once_and_spend_counted_once(hammering):
    done, faults = hammering.hammer(1.0, 4711, open_tasks=3)
    assert faults == [], done.root  # which is kept then
    assert len(done.made) >= 3
    assert done.asked and done.shells.ran
    assert 0 < done.replay().most <= 1
    shutil.rmtree(done.root.parent)
