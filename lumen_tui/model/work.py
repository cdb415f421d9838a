"""Work units, who holds a lane for one, and the sessions of agents on them.

In a session (sessions/<id>.json) the first six fields are the documented shape; readers of old files need no other.
"""

from msgspec import Struct


class WorkUnit(Struct, frozen=True, omit_defaults=True):
    """work/WU-NNN.md: TOML front matter between `+++` lines, then the description."""

    id: str
    title: str
    lane: str = ""
    type: str = "task"  # task | bug | idea | question | dependency | feature
    priority: str = "P2"
    status: str = "ready"
    acceptance: tuple[str, ...] = ()
    discovered_in: str = ""  # the work unit on which what it is about was noticed
    discovery: str = ""  # the node it was promoted from
    created_at: str = ""
    created_by: str = ""
    body: str = ""
    key: str = ""  # idempotency key of the creator
    schema: int = 1


class Tracked(WorkUnit, frozen=True, omit_defaults=True):
    """A work unit with what claim, block and done write into its front matter."""

    claimed_by: str = ""
    claimed_at: str = ""
    claimed_in: str = ""  # the session whose start put it in progress, until somebody claims it
    blocked_by: str = ""
    blocked_at: str = ""
    blocked_reason: str = ""
    done_by: str = ""
    done_at: str = ""


class Holder(Struct, frozen=True, omit_defaults=True):
    """Who holds a place in a lane (locks/<slug>.lock). `pid` is 0 where no process stands for the holder."""

    lane: str
    wu_id: str
    by: str = ""
    since: str = ""
    pid: int = 0
    start_ticks: int = 0
    boot_id: str = ""
    host: str = ""
    session_id: str = ""


TIERS = ("core", "full", "minimal")  # how much context the agent asked for
MOST_DECISIONS = 100  # of one session; the oldest leave first


class SessionDecision(Struct, frozen=True):
    """A question and, once there is one, its answer."""

    question: str
    answer: str = ""
    timestamp: str = ""


class WorkSession(Struct, frozen=True):
    """One session. It is open while `ended_at` is empty."""

    session_id: str
    started_at: str = ""
    active_wu: str = ""
    lane: str = ""
    files_touched: tuple[str, ...] = ()
    decisions: tuple[SessionDecision, ...] = ()
    agent: str = ""  # who started it: what tells parallel sessions apart
    agent_type: str = "unknown"
    context_tier: str = "full"
    node_id: str = ""  # of its node in the memory
    folder: str = ""  # where the agent works; changes are looked for there
    started_below: tuple[str, ...] = ()  # the processes above the one that began it, the nearest first
    head_at_start: str = ""  # the commit on which the working tree stood
    dirty_at_start: dict[str, str] = {}  # what was changed already, each file with when it changed last
    last_activity: str = ""
    last_checkpoint: str = ""  # when, not which
    ended_at: str = ""
    ended_by: str = ""
    schema: int = 1


def with_decision(session: WorkSession, decision: SessionDecision) -> tuple[SessionDecision, ...]:
    """Return the decisions with one added; an answer replaces its pending question."""
    others = [known for known in session.decisions if known.question != decision.question]
    return (*others, decision)[-MOST_DECISIONS:]
