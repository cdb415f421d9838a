"""Is the engine alive? Derived from the lock, the heartbeat and the process, never from a claim."""

from __future__ import annotations

from lumen_tui.model import times
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.snapshot import EngineLife, EngineView

GRACE = 30.0  # seconds past its time before a beat counts as late
PHASE_LIMIT = 60.0  # seconds after which an engine that still beats counts as hung


def derive_engine(*, lock_held: bool, heartbeat: Heartbeat | None, process_state: str, now: float) -> EngineView:
    """What can be said of the engine at `now`.

    `process_state` is the letter of proc(5) of the pid in the heartbeat, empty where there is none.
    """
    if not lock_held:
        return EngineView(life=EngineLife.NONE, heartbeat=heartbeat, why=_why_none(heartbeat, now))
    if heartbeat is None:
        return EngineView(life=EngineLife.ALIVE, why="starting")
    if process_state == "T":
        return EngineView(life=EngineLife.HUNG, heartbeat=heartbeat, why="the engine process is stopped (SIGSTOP)")
    silent = now - times.epoch(heartbeat.at, now)
    if heartbeat.phase in ("beating", "loop", "starting") and silent > PHASE_LIMIT:
        why = f"in phase {heartbeat.phase} for {times.span(silent)}"
        return EngineView(life=EngineLife.HUNG, heartbeat=heartbeat, why=why)
    late = now - times.epoch(heartbeat.next_at, now)
    if heartbeat.phase == "asleep" and late > GRACE:
        why = f"its beat is {times.span(late)} late"
        return EngineView(life=EngineLife.LATE, heartbeat=heartbeat, why=why)
    return EngineView(life=EngineLife.ALIVE, heartbeat=heartbeat)


def _why_none(heartbeat: Heartbeat | None, now: float) -> str:
    if heartbeat is None:
        return "no engine has run here yet"
    age = times.ago(now - times.epoch(heartbeat.at, now))
    if heartbeat.phase == "stopped":
        return f"stopped {age} ago"
    return f"ended without a word; last heard of {age} ago"
