"""Requests that judge discoveries."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.model.requests.base import Request


class PromoteDiscoveries(Request, tag="triage.promote", frozen=True, kw_only=True):
    """Make a work unit of each discovery, linked both ways, and close the discovery."""

    node_ids: str | Sequence[str]
    lane: str
    title: str = ""
    wu_id: str = ""


class ArchiveDiscoveries(Request, tag="triage.archive", frozen=True, kw_only=True):
    """Close discoveries that will not be worked on."""

    node_ids: str | Sequence[str]
    reason: str


class PostponeDiscoveries(Request, tag="triage.keep", frozen=True, kw_only=True):
    """Postpone the judgement: the discovery stays open and is not listed for that many days."""

    node_ids: str | Sequence[str]
    days: float = 7


class MergeDiscoveries(Request, tag="triage.merge", frozen=True, kw_only=True):
    """Close duplicates in favour of one discovery, which gets their tags, units, relations and highest priority."""

    node_ids: str | Sequence[str]
    into: str
