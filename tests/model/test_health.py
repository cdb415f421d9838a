"""What is healthy, what is ready, and which words say so."""

from __future__ import annotations

import pytest

from lumen_tui.model.health import FAIL, PASS, WARN, judge
from lumen_tui.model.liveness import EngineLife, EngineView
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.snapshot import Snapshot


def snapshot(life: EngineLife, phase: str = "asleep", note: str = "", **fields: object) -> Snapshot:
    beat = Heartbeat(beat=1, phase=phase, at="2026-03-01T07:00:00Z", note=note)
    return Snapshot(root="/s", taken=0.0, engine=EngineView(life=life, heartbeat=beat, why="so it is"), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("life", "status"),
    [
        (EngineLife.ALIVE, PASS),
        (EngineLife.LATE, WARN),
        (EngineLife.HUNG, FAIL),
        (EngineLife.NONE, FAIL),
    ],
)
def test_the_engine_decides_whether_there_is_health(life: EngineLife, status: str) -> None:
    health = judge(snapshot(life))
    assert (health.status, health.alive, health.ready) == (status, status != FAIL, status == PASS)
    assert health.checks["engine"].status == status
    assert (health.checks["engine"].output == "") is (status == PASS)


def test_an_engine_that_cannot_write_fails_with_its_reason() -> None:
    health = judge(snapshot(EngineLife.ALIVE, phase="degraded", note="the disk is full"))
    assert health.status == FAIL
    assert "the disk is full" in health.checks["state"].output


@pytest.mark.parametrize(
    "held", [{"killed": "killed by ann"}, {"paused": {"everything": "paused by ann"}}], ids=["killed", "paused"]
)
def test_what_a_person_held_back_is_alive_and_not_ready(held: dict[str, object]) -> None:
    health = judge(snapshot(EngineLife.ALIVE, **held))
    assert (health.alive, health.ready) == (True, False)
    assert "by ann" in health.checks["work"].output


def test_a_pause_of_one_role_holds_no_other_work_back() -> None:
    assert judge(snapshot(EngineLife.ALIVE, paused={"role web": "paused by ann"})).ready


def test_a_model_that_cannot_be_asked_is_named() -> None:
    health = judge(snapshot(EngineLife.ALIVE), ("ANTHROPIC_API_KEY is not set",))
    assert (health.status, health.checks["model"].output) == (WARN, "ANTHROPIC_API_KEY is not set")
    fields = health.fields()
    assert fields["status"] == WARN
    assert list(fields["checks"]) == ["engine", "state", "work", "model"]  # type: ignore[call-overload]
