"""The main agent's records: heartbeat, loop-state, wake-state, packet."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from lumen_tui.model.tasks import Usage


class Artifact(Struct, frozen=True, omit_defaults=True):
    """The last thing a loop made."""

    kind: str = ""
    path: str = ""
    title: str = ""


class Health(Struct, frozen=True, omit_defaults=True):
    """`ok`, `degraded` or `failed`, with a note."""

    status: str = "ok"
    note: str = ""


class TokenBudget(Struct, frozen=True, omit_defaults=True):
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
    cursor: dict[str, Any] = field(default_factory=dict)  # how far the last loop read each journal
    day: str = ""  # the UTC day that token_budget counts
    day_usd: float = 0.0
    empty_loops: int = 0  # loops in a row that changed nothing
    rev: int = 0
    schema: int = 1


class Packet(Struct, frozen=True, omit_defaults=True):
    """One line of loops/packets.jsonl: what came in, what was done, decided, made, left out and spent."""

    id: str
    loop: int
    started_at: str
    completed_at: str
    brain: str = "offline"
    came_in: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    made: tuple[Artifact, ...] = ()
    decided: tuple[str, ...] = ()
    abandoned: tuple[LeftOut, ...] = ()
    decided_against: tuple[LeftOut, ...] = ()
    changed: dict[str, int] = field(default_factory=dict)
    next: tuple[str, ...] = ()
    health: Health = field(default_factory=Health)
    cursor: dict[str, Any] = field(default_factory=dict)  # how far this loop read each journal
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    schema: int = 1


class Heartbeat(Struct, frozen=True, omit_defaults=True):
    """heartbeat.json: the engine's last word about itself. Evidence is the lock, this is information."""

    beat: int
    phase: str  # starting | beating | loop | asleep | paused | stopped | degraded
    at: str
    pid: int = 0
    start_ticks: int = 0
    boot_id: str = ""
    host: str = ""
    epoch: int = 0
    next_at: str = ""
    started_at: str = ""
    every_seconds: float = 300.0
    brain: str = "offline"
    sandbox: str = ""
    note: str = ""
    schema: int = 1


class Pause(Struct, frozen=True, omit_defaults=True):
    """pause.json: while it is there the engine starts nothing."""

    at: str
    by: str = "operator"
    reason: str = ""
    schema: int = 1


class EngineEvent(Struct, frozen=True, omit_defaults=True):
    """One line of events.jsonl: what the engine did. `seq` grows by one and never repeats."""

    seq: int
    at: str
    kind: str
    text: str = ""
    task_id: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    schema: int = 1


class Command(Struct, frozen=True, omit_defaults=True):
    """One line of commands.jsonl: what an operator asks of the engine."""

    id: str
    at: str
    verb: str  # beat | cancel | pause | resume | stop | reload
    target: str = ""
    reason: str = ""
    by: str = "operator"
    schema: int = 1


class CommandReceipt(Struct, frozen=True, omit_defaults=True):
    """The engine's answer to one command."""

    command_id: str
    at: str
    ok: bool
    text: str = ""
    schema: int = 1
