"""The agent's state in one word: what keeps it from working before what it does, whatever else is true as well."""

from __future__ import annotations

import itertools
from typing import Any

from lumen_rows import each_row

from lumen_tui.model.agentstate import AgentState, agent_status
from lumen_tui.model.liveness import EngineLife, EngineView
from lumen_tui.model.loop import Health, Heartbeat, LoopState
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.spendbook import SpendView
from lumen_tui.model.tasks import Spec, Status, TaskEvent, TaskView
from lumen_tui.model.times import iso

NOW = 1_800_000_000.0
BEAT = Heartbeat(beat=7, phase="asleep", at=iso(NOW - 60), next_at=iso(NOW + 200), brain="anthropic")
ALIVE = {"engine": EngineView(EngineLife.ALIVE, BEAT)}
FAILED = LoopState(
    42, iso(NOW - 30), health=Health("failed", "the server said no"), failed_loops=1, rests_until=iso(NOW + 480)
)
RESTED = LoopState(42, iso(NOW - 900), health=Health("failed", "no"), failed_loops=1, rests_until=iso(NOW - 1))
FULL_DAY = {"spend": SpendView(full="9 of 9 $", full_roles={"builder": "2 of 2 $"})}
FULL_ROLE = {"spend": SpendView(full_roles={"builder": "2 of 2 $"})}
FOR_BUDGET = TaskEvent(at=iso(NOW), kind="wait", data={"budget": True})


def worker(status: Status, role: str = "builder", name: str = "tsk-1", **more: Any) -> TaskView:
    return TaskView(Spec(name, "do it", role), status, **more)


def main(status: Status, **more: Any) -> TaskView:
    return worker(status, "main", "loop-000042", **more)


def beat(phase: str, **more: Any) -> dict[str, Any]:
    said = Heartbeat(beat=7, phase=phase, at=iso(NOW), **{"brain": "anthropic", **more})
    return {"engine": EngineView(EngineLife.ALIVE, said)}


RUNS, ASKS, STALLED = worker(Status.RUNNING), worker(Status.WAITING), worker(Status.STALLED)
TABLE: list[tuple[dict[str, Any], str, str]] = [
    ({}, "DOWN", "no engine"),
    ({"engine": EngineView(EngineLife.HUNG, BEAT, "in phase loop for 2 m")}, "DOWN", "engine hangs"),
    ({"engine": EngineView(EngineLife.LATE, BEAT, "heartbeat overdue by 2 m")}, "DOWN", "heartbeat overdue"),
    (beat("degraded", note="the disk is full"), "DOWN", "engine cannot work"),
    ({**ALIVE, "gone": "the state folder /x does not exist"}, "DOWN", "no state folder"),
    ({**ALIVE, "killed": "killed by ann: wild"}, "PAUSED", "killed by ann: wild"),
    ({**ALIVE, "killed": "killed", "tasks": (RUNS,)}, "PAUSED", "killed · 1 worker at work"),
    ({**ALIVE, "paused": {"everything": "paused by ann: a drill"}}, "PAUSED", "by ann: a drill"),
    (
        {**ALIVE, "paused": {"everything": "paused by ann"}, "tasks": (main(Status.RUNNING), RUNS)},
        "PAUSED", "by ann · loop 42 at work · 1 worker at work",
    ),
    ({**ALIVE, "paused": {"the loop": "paused by ann"}}, "PAUSED", "the loop · by ann"),
    ({**ALIVE, "paused": {"the loop": "paused by ann"}, "tasks": (RUNS,)}, "WORKING", "1 worker"),
    ({**ALIVE, "paused": {"role builder": "paused by ann"}}, "IDLE", "next wake in 3 min"),
    ({**ALIVE, "spend": SpendView(full="9 of 9 $")}, "PAUSED", "budget · 9 of 9 $"),
    ({**ALIVE, "spend": SpendView(full="9 of 9 $"), "tasks": (RUNS,)}, "WORKING", "1 worker"),
    ({**ALIVE, "spend": SpendView(closed=True)}, "PAUSED", "budget closed · the caps cannot be read"),
    ({**beat("asleep", brain="offline"), "spend": SpendView(full="9 of 9 $")}, "IDLE", ""),
    ({**ALIVE, **FULL_DAY, "tasks": (worker(Status.WAITING, tail=(FOR_BUDGET,)),)}, "PAUSED", "budget · 9 of 9 $"),
    ({**ALIVE, **FULL_DAY, "tasks": (main(Status.WAITING, tail=(FOR_BUDGET,)),)}, "PAUSED", "budget · 9 of 9 $"),
    ({**ALIVE, **FULL_ROLE}, "IDLE", "next wake in 3 min · budget of role builder used up"),
    (
        {**ALIVE, **FULL_ROLE, "tasks": (worker(Status.WAITING, tail=(FOR_BUDGET,)),)},
        "IDLE", "next wake in 3 min · budget of role builder used up",
    ),
    ({**ALIVE, **FULL_ROLE, "tasks": (RUNS,)}, "WORKING", "1 worker · budget of role builder used up"),
    (
        {**ALIVE, **FULL_ROLE, "tasks": (worker(Status.WAITING, tail=(FOR_BUDGET,)), main(Status.RUNNING))},
        "WORKING", "loop 42 · budget of role builder used up",
    ),
    ({**ALIVE, **FULL_ROLE, "tasks": (ASKS,)}, "WAITING", "on you"),
    ({**ALIVE, **FULL_ROLE, "killed": "killed by ann"}, "PAUSED", "killed by ann"),
    ({**ALIVE, **FULL_DAY, "tasks": (ASKS,)}, "WAITING", "on you"),
    (
        {**ALIVE, "spend": SpendView(full_roles={"a": "no", "b": "no"})},
        "IDLE", "next wake in 3 min · budget of roles a, b used up",
    ),
    ({**beat("asleep", brain="offline"), **FULL_ROLE}, "IDLE", ""),
    ({**ALIVE, "tasks": (main(Status.RUNNING),)}, "WORKING", "loop 42"),
    ({**ALIVE, "tasks": (main(Status.RUNNING), RUNS, RUNS)}, "WORKING", "loop 42 · 2 workers"),
    ({**ALIVE, "tasks": (main(Status.RUNNING), ASKS)}, "WORKING", "loop 42"),
    ({**ALIVE, "tasks": (RUNS,), "loop": FAILED}, "WORKING", "1 worker"),
    ({**ALIVE, "tasks": (main(Status.RUNNING),), "loop": FAILED}, "WORKING", "loop 42"),
    (beat("loop"), "WORKING", "in a loop"),
    ({**ALIVE, "tasks": (ASKS,)}, "WAITING", "on you"),
    ({**ALIVE, "tasks": (ASKS, RUNS)}, "WAITING", "on you · 1 worker at work"),
    ({**ALIVE, "tasks": (main(Status.WAITING),)}, "WAITING", "on you"),
    ({**ALIVE, "tasks": (ASKS,), "loop": FAILED}, "WAITING", "on you"),
    ({**ALIVE, "tasks": (STALLED,)}, "WAITING", "1 stalled"),
    ({**ALIVE, "tasks": (STALLED, RUNS)}, "WORKING", "1 worker"),
    ({**ALIVE, "loop": FAILED}, "BACKOFF", "again in 8 min · loop 42 failed"),
    ({**ALIVE, "loop": RESTED}, "IDLE", "next wake in 3 min"),
    (ALIVE, "IDLE", "next wake in 3 min"),
    ({**ALIVE, "tasks": (worker(Status.QUEUED), worker(Status.FAILED), worker(Status.LOST))}, "IDLE",
     "next wake in 3 min"),
    (beat("starting"), "IDLE", "starting"),
    ({"engine": EngineView(EngineLife.ALIVE, None, "starting")}, "IDLE", "starting"),
]  # fmt: skip


@each_row(("facts", "word", "beside"), TABLE)
def test_the_word_and_what_stands_behind_it(facts: dict[str, Any], word: str, beside: str) -> None:
    status = agent_status(Snapshot(root="/x", taken=NOW, **facts), NOW)
    assert (status.state.value, status.words(NOW)) == (word, beside)
    assert status.well == (word in ("WORKING", "IDLE"))


_DOWN = ({}, {"engine": EngineView(EngineLife.HUNG, BEAT)}, {"engine": EngineView(EngineLife.LATE, BEAT)})
_HELD = ({}, {"killed": "killed"}, {"paused": {"everything": "paused by ann"}}, {"spend": SpendView(full="all")})
_TASKS = ((), (RUNS,), (ASKS,), (STALLED,), (main(Status.RUNNING), ASKS), (main(Status.WAITING),))
_LOOPS = (None, FAILED, RESTED)


@each_row("engine", [*_DOWN, ALIVE])
def test_what_keeps_it_from_working_stands_before_what_it_does(engine: dict[str, Any]) -> None:
    for held, tasks, loop in itertools.product(_HELD, _TASKS, _LOOPS):
        picture = Snapshot(root="/x", taken=NOW, **{**engine, **held}, tasks=tasks, loop=loop)
        status = agent_status(picture, NOW)
        alive = engine is ALIVE
        assert (status.state is AgentState.DOWN) == (not alive)
        if alive and ("killed" in held or "paused" in held):
            assert status.state is AgentState.PAUSED
        if status.state is AgentState.WORKING:
            assert status.working
        if status.state is AgentState.BACKOFF:
            assert loop is FAILED
            assert not tasks
        if status.state is AgentState.IDLE:
            assert not tasks
            assert not held
