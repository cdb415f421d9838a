"""Requests about approvals and about what needs a person."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.model.requests.base import Request


class DismissItems(Request, tag="attention.dismiss", frozen=True, kw_only=True):
    """Dismiss these items; `targets` are the targets of queue entries."""

    targets: str | Sequence[str]
    reason: str = ""


class SnoozeItems(Request, tag="attention.snooze", frozen=True, kw_only=True):
    """Hide these items for some seconds; they come back by themselves."""

    targets: str | Sequence[str]
    seconds: float = 3600.0
    reason: str = ""


class RestoreItems(Request, tag="attention.back", frozen=True, kw_only=True):
    """Put dismissed or snoozed items back on the list at once."""

    targets: str | Sequence[str]
    reason: str = ""


class AllowCalls(Request, tag="approval.allow", frozen=True, kw_only=True):
    """Allow these calls once. `hash` is that of the call as it was shown, where a single one is answered."""

    approval_ids: str | Sequence[str]
    reason: str = ""
    hash: str = ""


class DenyCalls(Request, tag="approval.deny", frozen=True, kw_only=True):
    """Refuse these calls; the reason goes back to the worker."""

    approval_ids: str | Sequence[str]
    reason: str = ""
    hash: str = ""


class AllowAlways(Request, tag="approval.allow_always", frozen=True, kw_only=True):
    """Allow a call, and save the rule that `model.approvals.preview_rule` shows."""

    approval_id: str
    pattern: str = ""
    reason: str = ""
    hash: str = ""


class ForgetRule(Request, tag="approval.forget", frozen=True, kw_only=True):
    """Remove a rule by its number in the list of rules in force, from 1: the same calls ask again from then on."""

    number: int
    reason: str = ""
