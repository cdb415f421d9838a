"""Requests about what was learnt, and the constitution."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.model.requests.base import Request


class AcceptLearnings(Request, tag="evolution.accept", frozen=True, kw_only=True):
    """Accept proposals into evolved/. One that contradicts another replaces it."""

    ids: str | Sequence[str]


class RejectLearnings(Request, tag="evolution.reject", frozen=True, kw_only=True):
    """Reject proposals, or remove accepted ones. The same is not proposed again."""

    ids: str | Sequence[str]
    reason: str


class EditLearnings(Request, tag="evolution.edit", frozen=True, kw_only=True):
    """Reword an observation. It counts as a person's from then on; its evidence stays."""

    ids: str | Sequence[str]
    text: str


class RestoreVersion(Request, tag="evolution.restore", frozen=True, kw_only=True):
    """Restore evolved/ to a version, byte for byte, as a new version: nothing is lost."""

    version: int


class ApproveConstitution(Request, tag="constitution.approve", frozen=True, kw_only=True):
    """Approve evolved/constitution.md as it is now; the shipped constitution where there is no file."""
