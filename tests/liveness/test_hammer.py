"""A few seconds of `make hammer`."""

from __future__ import annotations

import shutil

import pytest


@pytest.mark.xdist_group("hammer")
def test_a_few_seconds_of_kills_leave_every_task_ended_once(hammering):
    done, faults = hammering.hammer(5.0, 4711)
    assert faults == [], done.root  # which is kept then
    assert len(done.made) >= hammering.OPEN_TASKS
    shutil.rmtree(done.root.parent)
