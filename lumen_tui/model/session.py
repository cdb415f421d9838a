"""Sessions: one agent's stretch of work on a work unit (sessions/<id>.json).

The first six fields are the documented shape; readers of old files need no other.
"""

from __future__ import annotations

from msgspec import Struct

TIERS = ("core", "full", "minimal")  # how much context the agent asked for
MOST_DECISIONS = 100  # of one session; the oldest leave first


class Decision(Struct, frozen=True):
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
    decisions: tuple[Decision, ...] = ()
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


def with_decision(session: WorkSession, decision: Decision) -> tuple[Decision, ...]:
    """Return the decisions with one added; an answer replaces its pending question."""
    others = [known for known in session.decisions if known.question != decision.question]
    return (*others, decision)[-MOST_DECISIONS:]
