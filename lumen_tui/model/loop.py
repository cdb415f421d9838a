"""The main agent's records: heartbeat, loop-state, wake-state, packet."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from lumen_tui.model import times
from lumen_tui.model.tasks import Usage

_BAD = ("fail", "lost", "error", "refuse", "problem", "degraded")  # in the kind of an event


_SET_BACK = 60.0  # seconds


class Artifact(Struct, frozen=True):
    """The last thing a loop made."""

    kind: str = ""
    path: str = ""
    title: str = ""


class Health(Struct, frozen=True):
    """`ok`, `degraded` or `failed`, with a note."""

    status: str = "ok"
    note: str = ""


class TokenBudget(Struct, frozen=True):
    """Tokens in the current window; `limit` 0 means none is set."""

    window: str = "day"
    limit: int = 0
    used: int = 0
    remaining: int = 0


class LeftOut(Struct, frozen=True, omit_defaults=True):
    """Something abandoned or decided against, and why: what other tools do not keep."""

    what: str
    why: str = ""


class LoopState(Struct, frozen=True, omit_defaults=True):
    """loop-state.json: the last completed loop, written at its end and read at the next one's start."""

    loop: int
    completed_at: str
    sleep_seconds: float = 300.0
    last_artifact: Artifact = field(default_factory=Artifact)
    health: Health = field(default_factory=Health)
    token_budget: TokenBudget = field(default_factory=TokenBudget)
    abandoned: tuple[LeftOut, ...] = ()
    decided_against: tuple[LeftOut, ...] = ()
    packet: str = ""
    seconds: float = 0.0
    cursor: dict[str, object] = field(default_factory=dict)  # how far the last loop read each journal
    day: str = ""  # the UTC day that token_budget counts
    day_usd: float = 0.0
    empty_loops: int = 0  # loops in a row that changed nothing
    failed_loops: int = 0  # sessions in a row that ended badly
    rests_until: str = ""  # before this only urgent news, or a person, brings the next loop
    rests_why: str = ""
    own_loops: int = 0  # loops in a row that nothing brought but the ends of tasks which the agent had ordered
    models: dict[str, str] = field(default_factory=dict)  # what loops began on or went on with, and when it last was
    rev: int = 0
    schema: int = 1


class Orientation(Struct, frozen=True, omit_defaults=True):
    """What a session took in from its start until its first call that acts rather than reads."""

    seconds: float = 0.0
    size: int = 0  # bytes: its briefing, and what its reads gave
    tokens: int = 0  # estimated from the bytes
    spent: int = 0  # tokens of the model calls up to there
    usd: float = 0.0  # what they cost
    reads: int = 0  # calls before the first that acted
    first: str = ""  # the tool of that one; empty where none came


class Packet(Struct, frozen=True, omit_defaults=True):
    """One line of loops/packets.jsonl: what came in, what was done, decided, made, left out and spent."""

    id: str
    loop: int
    started_at: str
    completed_at: str
    brain: str = "offline"
    came_in: tuple[str, ...] = ()
    came_ids: tuple[str, ...] = ()  # the signals it was shown and the tasks whose end it was told of
    done: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()  # the tasks it gave out, `id: objective`
    made: tuple[Artifact, ...] = ()
    decided: tuple[str, ...] = ()
    abandoned: tuple[LeftOut, ...] = ()
    decided_against: tuple[LeftOut, ...] = ()
    changed: dict[str, int] = field(default_factory=dict)
    next: tuple[str, ...] = ()
    health: Health = field(default_factory=Health)
    cursor: dict[str, object] = field(default_factory=dict)  # how far this loop read each journal
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    task_id: str = ""  # the session's task, where a model was asked
    session: str = ""  # its transcript
    failed: str = ""  # why the session ended badly; its news is shown again then
    tier: str = ""  # what the session began on, where that was not the role's own: a tier or a model
    tier_why: str = ""  # why that one
    escalated: str = ""  # why it went on with the role's own
    own: bool = False  # whether nothing brought it but the ends of tasks which the agent had ordered
    wake_state: str = ""  # what the agent wrote for its next loop
    constraints: tuple[str, ...] = ()  # what binds the next loop, as the agent says
    in_force: tuple[str, ...] = ()  # and as the engine knows, when the loop ended
    sleep_seconds: float = 0.0  # how long it wants to be left alone
    sleep_why: str = ""
    read: tuple[str, ...] = ()  # signals it was shown, or ...
    read_upto: str = ""  # ... the newest of all, where it was shown every one
    read_offset: int = -1
    cut: tuple[str, ...] = ()  # what its briefing had no room for
    orientation: Orientation = field(default_factory=Orientation)
    schema: int = 1


class Heartbeat(Struct, frozen=True, omit_defaults=True):
    """heartbeat.json: the engine's last word about itself. Evidence is the lock, this is information."""

    beat: int
    phase: str  # starting | beating | loop | asleep | paused | killed | stopped | degraded
    at: str
    pid: int = 0
    start_ticks: int = 0
    boot_id: str = ""
    host: str = ""
    epoch: int = 0
    next_at: str = ""
    running: float = 0.0  # `at` on the clock that counts since boot, also while the machine sleeps; 0: not told
    awake: float = 0.0  # and on the one that stands still meanwhile
    next_in: float = 0.0  # seconds from `at` to the next beat
    jumped: bool = False  # the wall clock was moved since the beat before: ages are not to be acted upon
    started_at: str = ""
    every_seconds: float = 300.0
    brain: str = "offline"
    sandbox: str = ""
    note: str = ""
    seals: int = 0  # the newest seal of the chain of hashes after the last beat, its number and its hash
    head: str = ""
    schema: int = 1


class Pause(Struct, frozen=True, omit_defaults=True):
    """pause.json: while it is there the engine starts nothing. The same record pauses a loop, a role or one task."""

    at: str
    by: str = "operator"
    reason: str = ""
    until: str = ""  # when it ends by itself; empty: when a person says so
    after: str = "task"  # task: running workers go on to their end | step: they rest after their step | now: at once
    kind: str = ""  # of a provider: key | credit | limit
    mark: str = ""  # of a provider: which key and settings it was closed for
    schema: int = 1

    def past(self, now: float) -> bool:
        """Return whether a provider's time has come, or nobody knows: the clock was set back behind its beginning."""
        return self.over(now) or now < times.epoch(self.at, now) - _SET_BACK

    def over(self, now: float) -> bool:
        """Return whether its time has come."""
        return bool(self.until) and times.epoch(self.until, now + 1) <= now

    @property
    def words(self) -> str:
        """Who, until when, why."""
        until = f" until {times.stamp_of(self.until)}" if self.until else ""
        return f"paused by {self.by}{until}" + (f": {self.reason}" if self.reason else "")


class Pauses(Struct, frozen=True, omit_defaults=True):
    """pauses.json: what is paused by itself."""

    loop: Pause | None = None
    roles: dict[str, Pause] = field(default_factory=dict)
    providers: dict[str, Pause] = field(default_factory=dict)  # by endpoint: no task that needs it starts
    schema: int = 1


TASK_ENDED = "task_ended"  # the kind of the engine's event


class EngineEvent(Struct, frozen=True, omit_defaults=True):
    """One line of events.jsonl: what the engine did. `seq` grows by one and never repeats."""

    seq: int
    at: str
    kind: str
    text: str = ""
    task_id: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    schema: int = 1


class TaskEnd(Struct, frozen=True):
    """What a `task_ended` event says of the end of the task."""

    status: str = ""  # done | failed | cancelled | lost
    reason: str = ""
    tokens: int = 0
    usd: float = 0.0
    brain: str = ""
    attempt: int = 0
    verdict: str = ""  # proved | claimed | disproved, of what counts as done
    by: str = ""  # who made the task, and ...
    made: str = ""  # ... when
    awaited_by: str = ""  # the task that ordered it and gets its result: the main agent is not woken by it

    @property
    def words(self) -> str:
        """How it ended; of a task that is done, whether that is proved."""
        return f"{self.status} ({self.verdict})" if self.status == "done" and self.verdict else self.status


def task_end(event: EngineEvent) -> TaskEnd:
    """Return how a task ended, from its event; empty for another event and for one whose data are damaged."""
    try:
        return msgspec.convert(event.data, TaskEnd) if event.kind == TASK_ENDED else TaskEnd()
    except msgspec.ValidationError:
        return TaskEnd()


def event_line(event: EngineEvent) -> str:
    """Return an event in words for a log; of a task also how it ended, and why."""
    end = task_end(event)
    if not end.status:
        return event.text
    explanation = f": {end.reason}" if end.status != "done" and end.reason else ""
    return f"{end.words}  {event.text}{explanation}"


def went_wrong(event: EngineEvent) -> bool:
    """Return whether an event tells of something bad."""
    if event.kind == TASK_ENDED:
        return task_end(event).status not in ("done", "cancelled")
    return any(word in event.kind for word in _BAD)


class Command(Struct, frozen=True, omit_defaults=True):
    """One line of commands.jsonl: what an operator asks of the engine."""

    id: str
    at: str
    verb: str  # beat | cancel | pause | resume | stop | reload
    target: str = ""  # a task; for pause and resume also `loop` or `role:NAME`, empty for all
    reason: str = ""
    by: str = "operator"
    until: str = ""  # of a pause: when it ends by itself
    after: str = ""  # step | task | now: when it takes hold; `alone`, of a resume: no more than that one scope
    schema: int = 1


class CommandReceipt(Struct, frozen=True, omit_defaults=True):
    """The engine's answer to one command."""

    command_id: str
    at: str
    ok: bool
    text: str = ""
    schema: int = 1
