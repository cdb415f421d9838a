"""Who drives a state folder, where the engine before was killed."""

from __future__ import annotations

import os
import time

import pytest
from lumen_until import until

from lumen_tui.storage import lease
from lumen_tui.storage.layout import Layout


@pytest.mark.fault("R9", "a second engine on one folder, a killed one, a frozen one")
@pytest.mark.threat("S15", "an engine that is not the one; processes with a number used again")
def test_the_lease_of_a_killed_engine_is_taken_once_its_last_child_has_let_go(tmp_path, monkeypatch):
    layout = Layout(tmp_path / "state")
    layout.create()
    held_by_child = _killed_with_a_child(layout)
    assert lease.is_held(layout)
    pauses = []

    def wait(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            os.close(held_by_child)
            until(lambda: not lease.is_held(layout), sleep=_sleep)

    monkeypatch.setattr(lease.time, "sleep", wait)
    taken = lease.take_lease(layout)
    assert taken is not None
    assert len(pauses) == 2
    assert lease.take_lease(layout) is None  # nor is waited for one that lives
    assert len(pauses) == 2
    taken.release()


_sleep = time.sleep


def _killed_with_a_child(layout: Layout) -> int:
    """Let a process take the lease, fork and die; return the pipe whose end ends its child."""
    reading, writing = os.pipe()
    engine = os.fork()
    if not engine:
        lease.take_lease(layout)
        if not os.fork():
            os.close(writing)
            os.read(reading, 1)
        os._exit(0)
    os.waitpid(engine, 0)
    os.close(reading)
    return writing
