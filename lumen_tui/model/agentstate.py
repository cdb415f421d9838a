"""The state of the agent in one word, from its engine, its loop, its workers, what holds it back and what failed."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from lumen_tui.model import agent, times
from lumen_tui.model.liveness import EngineLife
from lumen_tui.model.tasks import WAITING_ON_YOU, live_ones
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from lumen_tui.model.snapshot import Snapshot

_EVERYTHING, _LOOP = "everything", "the loop"  # names among what is paused
_FREE = "offline"  # the brain that no budget holds back
_NAME = 40  # characters of a role's name


class AgentState(StrEnum):
    """The one word. What keeps the agent from working comes before what it does."""

    DOWN = "DOWN"  # no engine, or one that hangs, is overdue or cannot work
    PAUSED = "PAUSED"  # by a person, by the kill switch, or because the budget is used up
    WORKING = "WORKING"
    WAITING = "WAITING"  # for a person, or for workers from which nothing comes
    BACKOFF = "BACKOFF"  # its last loop failed: it tries again later
    IDLE = "IDLE"


class AgentStatus(Struct, frozen=True):
    """The word and what is beside it."""

    state: AgentState
    brief: str = ""  # a few words, such as `loop 42` or `no engine`
    reason: str = ""  # the whole of it, where there is more to say
    until: float = 0.0  # when that ends or goes on by itself, in seconds since 1970; 0: not known, or not at all
    wakes: float = 0.0  # when the engine beats next; 0: not known
    working: tuple[str, ...] = ()  # `loop 42`, `2 workers`: what is at work, whatever the word is
    roles_full: str = ""  # `budget of role builder used up`: what is held back while the rest goes on

    def words(self, now: float) -> str:
        """Return what is behind the word, on one line: `loop 42 · 2 workers`, `next wake in 3 min`."""
        parts = {
            AgentState.DOWN: (self.brief,),
            AgentState.PAUSED: (self.brief, self.reason.removeprefix("paused "), *self._besides()),
            AgentState.WORKING: (*(self.working or (self.brief,)), self.roles_full),
            AgentState.WAITING: (self.brief, *self._besides()),
            AgentState.BACKOFF: (f"again {times.until(self.until - now)}", self.brief),
            AgentState.IDLE: (self.brief, self.next_wake(now), self.roles_full),
        }
        return " · ".join(part for part in parts[self.state] if part)

    def next_wake(self, now: float) -> str:
        """Return `next wake in 3 min`; empty where that is unknown or due now."""
        return f"next wake {times.until(self.wakes - now)}" if self.wakes > now else ""

    def _besides(self) -> tuple[str, ...]:
        """Return what is at work although the word is another one."""
        return tuple(f"{part} at work" for part in self.working)

    @property
    def well(self) -> bool:
        """Whether nothing keeps the agent from its work."""
        return self.state in (AgentState.WORKING, AgentState.IDLE)


class _Workers(Struct, frozen=True):
    """Workers in each state, the main agent's session apart, and that one's own."""

    counts: Counter[str]
    session: str  # empty where no session is alive
    loop: int
    turn: int  # of the chat, which runs beside a loop; 0 for none


def agent_status(snapshot: Snapshot, now: float) -> AgentStatus:
    """Return what is true of the agent at `now`, by the evidence in one snapshot."""
    workers = _workers(snapshot)
    at_work = _at_work(workers)
    status = (
        _down(snapshot)
        or _paused(snapshot, workers)
        or _busy(workers, at_work, snapshot)
        or _backoff(snapshot, now)
        or _idle(snapshot)
    )
    beat = snapshot.engine.heartbeat
    wakes = times.epoch(beat.next_at) if beat is not None and beat.phase == "asleep" and beat.next_at else 0.0
    return AgentStatus(status.state, status.brief, status.reason, status.until, wakes, at_work, _roles_full(snapshot))


def _workers(snapshot: Snapshot) -> _Workers:
    counts, session, loop, turn = Counter[str](), "", 0, 0
    for view in live_ones(snapshot.tasks):
        if view.spec.role != agent.ROLE:
            counts[view.state] += 1
        elif view.status.alive and agent.turn_of(view.id):
            counts[WAITING_ON_YOU] += view.state == WAITING_ON_YOU
            turn = agent.turn_of(view.id) if view.state == "running" else turn
        elif view.status.alive:
            session, loop = view.state, agent.loop_of(view.id)
    return _Workers(counts, session, loop, turn)


def _at_work(workers: _Workers) -> tuple[str, ...]:
    running = workers.counts["running"]
    loop = (f"loop {workers.loop}",) if workers.session == "running" else ()
    turn = (f"turn {workers.turn} of the chat",) if workers.turn else ()
    return (*loop, *turn, *((f"{running} worker{'' if running == 1 else 's'}",) if running else ()))


def _roles_full(snapshot: Snapshot) -> str:
    """Return which roles have nothing left for today; empty where no budget counts."""
    names = [one_line(role, _NAME) for role in snapshot.spend.full_roles] if _costs(snapshot) else []
    return f"budget of role{'' if len(names) == 1 else 's'} {', '.join(names)} used up" if names else ""


def _costs(snapshot: Snapshot) -> bool:
    beat = snapshot.engine.heartbeat
    return beat is None or beat.brain != _FREE


def _down(snapshot: Snapshot) -> AgentStatus | None:
    engine, beat = snapshot.engine, snapshot.engine.heartbeat
    if snapshot.gone:
        return AgentStatus(AgentState.DOWN, "no state folder", snapshot.gone)
    words = {
        EngineLife.NONE: "no engine",
        EngineLife.HUNG: "engine hangs",
        EngineLife.LATE: "heartbeat overdue",
    }
    if brief := words.get(engine.life):
        return AgentStatus(AgentState.DOWN, brief, engine.why)
    if beat is not None and beat.phase == "degraded":
        return AgentStatus(AgentState.DOWN, "engine cannot work", beat.note)
    return None


def _paused(snapshot: Snapshot, workers: _Workers) -> AgentStatus | None:
    """A person's word holds whatever still runs; an empty day's budget and a paused loop only where nothing runs.

    The budget of one role stops nobody else: it is shown beside the word.
    """
    if snapshot.killed:
        return AgentStatus(AgentState.PAUSED, "", snapshot.killed)
    if how := snapshot.paused.get(_EVERYTHING, ""):
        return AgentStatus(AgentState.PAUSED, "", how)
    if workers.session == "running" or workers.turn or workers.counts["running"] or workers.counts[WAITING_ON_YOU]:
        return None
    if _costs(snapshot) and snapshot.spend.closed:
        return AgentStatus(AgentState.PAUSED, "budget closed", "the caps cannot be read")
    if _costs(snapshot) and snapshot.spend.full:
        return AgentStatus(AgentState.PAUSED, "budget", snapshot.spend.full)
    if how := snapshot.paused.get(_LOOP, ""):
        return AgentStatus(AgentState.PAUSED, "the loop", how)
    beat = snapshot.engine.heartbeat
    if beat is not None and (how := snapshot.paused.get(f"provider {beat.brain}", "")):
        return AgentStatus(AgentState.PAUSED, f"provider {beat.brain}", how)
    return None


def _busy(workers: _Workers, at_work: tuple[str, ...], snapshot: Snapshot) -> AgentStatus | None:
    """A session at work is work, whoever waits beside it; else a question to a person comes before other workers."""
    if workers.session == "running" or workers.turn:
        return AgentStatus(AgentState.WORKING, at_work[0])
    waiting = workers.counts[WAITING_ON_YOU] + (workers.session == WAITING_ON_YOU)
    if waiting:
        return AgentStatus(AgentState.WAITING, "on you", f"{waiting} for your answer")
    beat = snapshot.engine.heartbeat
    if at_work or (beat is not None and beat.phase == "loop"):
        return AgentStatus(AgentState.WORKING, "in a loop")
    stalled = workers.counts["stalled"] + (workers.session == "stalled")
    if stalled:
        return AgentStatus(AgentState.WAITING, f"{stalled} stalled", "nothing comes from what is at work")
    return None


def _backoff(snapshot: Snapshot, now: float) -> AgentStatus | None:
    loop = snapshot.loop
    if loop is None or not loop.failed_loops:
        return None
    until = times.epoch(loop.rests_until) if loop.rests_until else 0.0
    if until <= now:
        return None
    return AgentStatus(AgentState.BACKOFF, f"loop {loop.loop} failed", loop.health.note, until)


def _idle(snapshot: Snapshot) -> AgentStatus:
    beat = snapshot.engine.heartbeat
    return AgentStatus(AgentState.IDLE, "starting" if beat is None or beat.phase == "starting" else "")
