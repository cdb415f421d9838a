"""Requests about signals."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.model.requests.base import Request


class SendSignal(Request, tag="signal.send", frozen=True, kw_only=True):
    """Append a signal. `to` names the intended agent; everybody can read it. The same `key` sends one."""

    message: str
    to: str = ""
    wu_id: str = ""
    lane: str = ""
    priority: str = ""
    type: str = "coordination"
    reply_to: str = ""
    key: str = ""
    session_id: str = ""


class ReadSignals(Request, tag="signal.read", frozen=True, kw_only=True):
    """Mark these signals as read by the operator; nobody else's inbox changes."""

    signal_ids: str | Sequence[str]


class ReadAllSignals(Request, tag="signal.read_all", frozen=True, kw_only=True):
    """Mark everything that is there now as read by the operator, with one receipt."""


class CleanUpSignals(Request, tag="cleanup.signals", frozen=True, kw_only=True):
    """Move signals whose retention is over to memory/archive.jsonl, and drop orphaned receipts."""

    ttl: str = "7d"
    unread_ttl: str = "30d"
    max_entries: int = 500
    force: bool = False
