"""Requests of sessions: decisions, checkpoints, handoffs."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.model.requests.base import Request


class StartSession(Request, tag="session.start", frozen=True, kw_only=True):
    """Start a session on a work unit, put that in progress, and take what was handed over for it."""

    wu_id: str
    agent_type: str = "unknown"
    context_tier: str = "full"
    folder: str = ""
    started_below: Sequence[str] = ()
    key: str = ""


class EndSession(Request, tag="session.end", frozen=True, kw_only=True):
    """End a session: the named one, else the one this agent started last."""

    session: str = ""


class NoteDecision(Request, tag="decision.note", frozen=True, kw_only=True):
    """Note a question with its answer, or as pending, which `ready` lists until answered. The same `key` notes one."""

    question: str
    answer: str = ""
    wu_id: str = ""
    session: str = ""
    priority: str = ""
    key: str = ""


class AnswerDecision(Request, tag="decision.answer", frozen=True, kw_only=True):
    """Answer a pending decision. The same `key` again finds it answered and changes nothing."""

    node_id: str
    answer: str
    key: str = ""


class SaveCheckpoint(Request, tag="checkpoint.save", frozen=True, kw_only=True):
    """Append a checkpoint; changes are looked for in `folder`, else in the session's."""

    note: str = ""
    wu_id: str = ""
    session: str = ""
    progress: str = ""
    next_steps: str = ""
    trigger: str = "manual"
    folder: str = ""
    git_diff_stat: str = ""
    key: str = ""


class GiveHandoff(Request, tag="handoff.give", frozen=True, kw_only=True):
    """Leave a note for the next agent on a work unit, or for `to` alone. The same `key` leaves one."""

    note: str
    wu_id: str = ""
    to: str = ""
    session: str = ""
    key: str = ""


class TakeHandoff(Request, tag="handoff.take", frozen=True, kw_only=True):
    """Take hand-offs as a verb of its own, for an agent that continues without a new session."""

    wu_id: str = ""
    session: str = ""
