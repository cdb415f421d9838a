"""Are the engine and the workers alive? Derived from locks, processes and last words, never from a claim."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from lumen_tui.model import times
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.tasks import Status, TaskEvent

GRACE = 30.0  # seconds past its time before a beat counts as late
PHASE_LIMIT = 60.0  # seconds after which an engine that still beats counts as hung


class EngineLife(StrEnum):
    """What evidence says about the engine."""

    NONE = "none"  # nobody holds the lock
    ALIVE = "alive"
    LATE = "late"  # holds the lock, but its next beat is overdue
    HUNG = "hung"  # holds the lock, late, and stuck in a phase or stopped


class EngineView(Struct, frozen=True):
    """The engine from outside: the lock is the evidence, the heartbeat the information."""

    life: EngineLife = EngineLife.NONE
    heartbeat: Heartbeat | None = None
    why: str = ""  # a plain sentence where life is not ALIVE


class Clocks(Struct, frozen=True):
    """The two clocks of this boot beside the wall clock: one goes on while the machine sleeps, one stands still."""

    running: float
    awake: float
    boot_id: str


class _Ages(Struct, frozen=True):
    """How old a heartbeat is, how late the next one, and for how long the machine slept since; in seconds."""

    silent: float
    late: float
    slept: float


def _ages(beat: Heartbeat, now: float, clocks: Clocks | None) -> _Ages:
    """Compute the ages by the clocks of this boot where possible: nobody can move them."""
    if clocks is None or not beat.running or beat.boot_id != clocks.boot_id:
        return _Ages(now - times.epoch(beat.at, now), now - times.epoch(beat.next_at, now), 0.0)
    silent = clocks.running - beat.running
    return _Ages(silent, silent - beat.next_in, max(0.0, silent - (clocks.awake - beat.awake)))


def derive_engine(
    *, lock_held: bool, heartbeat: Heartbeat | None, process_state: str, now: float, clocks: Clocks | None = None
) -> EngineView:
    """Return what can be said of the engine at `now`.

    `process_state` is the letter of proc(5) of the pid in the heartbeat, empty where there is none.
    """
    if not lock_held:
        return EngineView(life=EngineLife.NONE, heartbeat=heartbeat, why=_why_none(heartbeat, now))
    if heartbeat is None:
        return EngineView(life=EngineLife.ALIVE, why="starting")
    if process_state in ("T", "t"):
        reason = f"its process {heartbeat.pid} is stopped (SIGSTOP); `kill -CONT {heartbeat.pid}` resumes it"
        return EngineView(life=EngineLife.HUNG, heartbeat=heartbeat, why=reason)
    life, reason = _by_age(heartbeat, _ages(heartbeat, now, clocks))
    if life is not EngineLife.ALIVE:
        reason += {"D": "; it waits for the disk", "R": "; it is busy"}.get(process_state, "")
    return EngineView(life=life, heartbeat=heartbeat, why=reason)


def _by_age(beat: Heartbeat, ages: _Ages) -> tuple[EngineLife, str]:
    awake = ages.silent - ages.slept
    if beat.phase in ("beating", "loop", "starting") and awake > PHASE_LIMIT:
        return EngineLife.HUNG, f"in phase {beat.phase} for {times.span(awake)}"
    if beat.phase not in ("asleep", "paused", "killed", "degraded") or ages.late <= GRACE:
        return EngineLife.ALIVE, ""
    if ages.late - ages.slept <= GRACE:
        return EngineLife.ALIVE, f"the machine slept for {times.span(ages.slept)}; the beat comes now"
    return EngineLife.LATE, f"heartbeat overdue by {times.span(ages.late - ages.slept)}"


def _why_none(heartbeat: Heartbeat | None, now: float) -> str:
    if heartbeat is None:
        return "no engine has run here yet"
    age = times.ago(now - times.epoch(heartbeat.at, now))
    if heartbeat.phase == "stopped":
        return f"stopped {age}"
    return f"crashed; last heartbeat {age}"


WAIT = "wait"  # the kind of a worker's event that says for what it waits; data {"until": seconds since 1970}
ASKS = "waiting"  # of the one that says it waits for a person
LONGEST_WAIT = 7 * times.DAY  # ahead; a later moment is no wait but a mistake


class WorkerEvidence(Struct, frozen=True):
    """What is known of a worker that holds its lock. `state` is the letter of proc(5) of that very process."""

    pid: int
    state: str
    silent_for: float  # seconds of running time
    stall_after: float
    now: float
    waits: str = ""  # what its last event says it waits for
    asks: bool = False  # a person, that is
    wait_until: float = 0.0
    held: str = ""  # who asked it to rest
    last: str = ""  # the kind of its last event, with the tool
    last_at: float = 0.0  # seconds since 1970; 0 before the first one

    @property
    def gone(self) -> bool:
        """Whether its process has ended."""
        return self.pid > 0 and self.state in ("", "Z", "X")


def wait_until(last: TaskEvent | None) -> float:
    """Return until when the worker waits by its last event; 0 where it does not wait or the time is unreadable."""
    if last is None or last.kind != WAIT:
        return 0.0
    until = last.data.get("until")
    if isinstance(until, str):
        return times.epoch(until)
    return float(until) if isinstance(until, int | float) else 0.0


def derive_worker(evidence: WorkerEvidence) -> tuple[Status, str]:
    """Return the status and reason of a worker whose lock is held."""
    if evidence.gone:
        return Status.STALLED, f"its process {evidence.pid} is gone, yet something it started still holds its lock"
    if evidence.state in ("T", "t"):
        return Status.STALLED, f"its process {evidence.pid} is stopped; `kill -CONT {evidence.pid}` resumes it"
    if evidence.held:
        return Status.RUNNING, f"held between two steps: {evidence.held}"
    if evidence.asks:
        return Status.WAITING, evidence.waits
    if 0 < evidence.wait_until - evidence.now <= LONGEST_WAIT:
        moment = times.time_of_day(evidence.wait_until, exactly=True)
        return Status.RUNNING, f"{evidence.waits or 'waiting for the model'} (until {moment})"
    if 0 < evidence.stall_after < evidence.silent_for:
        since = (
            f"since {times.time_of_day(evidence.last_at, exactly=True)}, after {evidence.last}"
            if evidence.last_at
            else "from the start"
        )
        held_up = "; it waits for the disk" if evidence.state == "D" else ""
        return Status.STALLED, f"no progress {since}{held_up}"
    return Status.RUNNING, ""
