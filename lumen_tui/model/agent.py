"""What the main agent's session and the engine say to each other, and what follows from how a loop went."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct, field

from lumen_tui.model.approvals import SEND_MAIL
from lumen_tui.model.loop import Artifact, Health, LeftOut
from lumen_tui.model.roles import BLOCK_TOOLS, PLANNING_TOOLS, Role

ROLE = "main"  # of the main agent's sessions, and of nothing else
TOOLS = (
    *PLANNING_TOOLS,
    "signal",
    "remember",
    *BLOCK_TOOLS,
    "discover",
    "checkpoint",
    "propose",
    "propose_change",
    "read_trials",
    "schedule",
    "unschedule",
    SEND_MAIL,
    "sleep",
    "escalate",
    "deposit",
)
OF_LOOPS = ("deposit", "escalate", "sleep")  # what only a loop has of them
ACTS_FILE, DEPOSIT_FILE, SLEEP_FILE = "acts.jsonl", "deposit.json", "sleep.json"  # in the session's task folder
WAIT = "wait_for_tasks"  # the tool of whoever else can order tasks: the main agent waits for none
MOST_TASKS = 8  # that one loop may create
WORTH = (
    "tasks_created",
    "units_made",
    "units_changed",
    "discoveries_judged",
    "signals_sent",
    "memory_added",
    "discoveries_added",
    "proposals",
    "artifacts",
    "decisions",
    "tasks_done",
    "defects_fixed",
)
EMPTY_LOOPS = 3  # in a row, after which the agent sleeps longer and a person hears of it
OWN_LOOPS = 12  # in a row that only its own tasks brought, after which the agent sleeps longer
FAILED_LOOPS = 3  # in a row, after which what could not be dealt with is not shown again by itself
_LONGEST_REST = 6 * 3600.0  # seconds


class Deposit(Struct, frozen=True, omit_defaults=True):
    """tasks/loop-…/deposit.json: the session's last act."""

    made: tuple[Artifact, ...] = ()
    decided: tuple[str, ...] = ()
    abandoned: tuple[LeftOut, ...] = ()
    decided_against: tuple[LeftOut, ...] = ()
    next: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    health: Health = field(default_factory=Health)
    wake_state: str = ""  # Markdown, for the agent's next loop
    schema: int = 1


class Act(Struct, frozen=True, omit_defaults=True):
    """One line of tasks/loop-…/acts.jsonl: something the session did that another attempt must not do again."""

    key: str  # hash of the call
    # task | unit | change | judgement | cancel | signal | note | discovery | checkpoint | proposal | escalation
    kind: str
    id: str
    text: str = ""
    count: int = 1  # how many things of its kind it made


class Nap(Struct, frozen=True, omit_defaults=True):
    """tasks/loop-…/sleep.json: how long the agent wants to be left alone by news that can wait."""

    seconds: float
    reason: str = ""


class OpenLoop(Struct, frozen=True, omit_defaults=True):
    """loops/current.json: the loop that is at work, and what its session was shown; gone once its packet is written."""

    loop: int
    started_at: str
    came_in: tuple[str, ...] = ()
    came_ids: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    made: tuple[Artifact, ...] = ()
    tasks_done: int = 0
    tasks_failed: int = 0
    discoveries: int = 0
    by_workers: dict[str, int] = field(default_factory=dict)  # what they added to memory
    signals: int = 0  # how many the session was shown
    read: tuple[str, ...] = ()  # which, or ...
    read_upto: str = ""  # ... the newest of all, where it was shown every one
    read_offset: int = -1
    cut: tuple[str, ...] = ()  # what the briefing had no room for
    cursor: dict[str, object] = field(default_factory=dict)
    tier: str = ""  # what the session begins on, where that is not the role's own
    tier_why: str = ""
    own: bool = False  # whether nothing brought it but the ends of tasks which the agent had ordered
    tokens: int = 0  # of the tasks that ended
    usd: float = 0.0
    schema: int = 1


def task_id(loop: int) -> str:
    """Return the task that is the session of a loop: `loop-000124`."""
    return f"loop-{loop:06d}"


def loop_of(name: str) -> int:
    """Return the loop whose session a task is, 0 where it is none."""
    return _number(name, task_id)


def turn_id(turn: int) -> str:
    """Return the task that is a turn of the chat: `chat-000007`."""
    return f"chat-{turn:06d}"


def turn_of(name: str) -> int:
    """Return the turn of the chat that a task is, 0 where it is none."""
    return _number(name, turn_id)


def is_own(name: str) -> bool:
    """Return whether a task is the main agent's own: the session of a loop, or a turn of the chat."""
    return bool(loop_of(name) or turn_of(name))


def _number(name: str, form: Callable[[int], str]) -> int:
    digits = name.partition("-")[2]
    known = len(digits) >= 6 and digits.isascii() and digits.isdigit()
    return int(digits) if known and form(int(digits)) == name else 0


def with_tools(role: Role) -> Role:
    """Return the role of a session of the main agent: always with its own tools, and a deposit as its result."""
    others = [tool for tool in role.tools if tool not in TOOLS and tool != "write_result"]
    return msgspec.structs.replace(role, tools=(*others, *TOOLS))


def in_turn(role: Role) -> Role:
    """Return the main agent's role as it is in a turn of the chat, where nothing ends a loop or puts one off."""
    whole = with_tools(role)
    tools = tuple(tool for tool in whole.tools if tool not in OF_LOOPS)
    rules = tuple(rule for rule in whole.rules if rule.tool not in OF_LOOPS)
    return msgspec.structs.replace(whole, tools=tools, rules=rules)


def rest_after(count: int, allowed: int, every: float) -> float:
    """Return the seconds of rest after `count` loops in a row that failed or changed nothing; 0 for none.

    Twice as long each time from `allowed` on, beginning with twice the heartbeat's interval.
    """
    return min(_LONGEST_REST, every * 2.0 ** min(count - allowed + 1, 20)) if count >= allowed else 0.0
