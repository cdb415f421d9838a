"""Requests about what was learnt, and the constitution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request


class AcceptLearnings(Request, tag="evolution.accept", frozen=True, kw_only=True):
    """Accept proposals into evolved/. One that contradicts another replaces it."""

    ids: Annotated[
        str | Sequence[str],
        Arg("take over proposals, all of a session, or what a model rejected", "--accept", metavar="ID"),
    ]


class RejectLearnings(Request, tag="evolution.reject", frozen=True, kw_only=True):
    """Reject proposals, or remove accepted ones. The same is not proposed again."""

    ids: Annotated[
        str | Sequence[str], Arg("turn them down, or all that a session asks (with --reason)", "--reject", metavar="ID")
    ]
    reason: Annotated[str, Arg("why it is turned down", "-r")]


class EditLearnings(Request, tag="evolution.edit", frozen=True, kw_only=True):
    """Reword an observation. It counts as a person's from then on; its evidence stays."""

    ids: Annotated[str | Sequence[str], Arg("say it in other words (with --text)", "--edit", metavar="ID")]
    text: Annotated[str, Arg("the new words")]


class RestoreVersion(Request, tag="evolution.restore", frozen=True, kw_only=True):
    """Restore evolved/ to a version, byte for byte, as a new version: nothing is lost."""

    version: Annotated[int, Arg("put evolved/ back to a version, byte for byte", "--restore", metavar="N")]


class ApproveConstitution(Request, tag="constitution.approve", frozen=True, kw_only=True):
    """Approve evolved/constitution.md as it is now; the shipped constitution where there is no file."""


class MarkCases(Request, tag="evolution.mark", frozen=True, kw_only=True):
    """Say of cases that every challenger must pass them, or take them out of their suite. They count as a person's."""

    ids: Annotated[str | Sequence[str], Arg("cases, as `evolve cases` lists them", place="CASE")]
    must: Annotated[
        bool | None, Arg("no challenger may fail them", "--must", opposite=("--may", "they count like any other"))
    ] = None
    dropped: Annotated[bool | None, Arg("take them out", "--drop", opposite=("--back", "put them back"))] = None
    suite: Annotated[str, Arg("the suite")] = "work"
