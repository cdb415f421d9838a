"""Requests about what was learnt, and the constitution."""

from collections.abc import Sequence
from typing import Annotated, Literal

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


class ProposeCandidate(Request, tag="evolution.propose", frozen=True, kw_only=True):
    """Propose one edit: of a shipped role, of the search, the briefing or a playbook."""

    role: Annotated[str, Arg("the shipped role, where the change is about one", place="ROLE")] = ""
    why: Annotated[str, Arg("why it should help")]
    rule: Annotated[str, Arg("the kind of a rule on its tools", metavar="KIND")] = ""
    tool: Annotated[str, Arg("the tool that the rule is about")] = ""
    pattern: Annotated[str, Arg("commands or paths that the rule is about")] = ""
    count: Annotated[int, Arg("calls that a rule max_count allows", metavar="N")] = 0
    then: Annotated[Sequence[str], Arg("tools that a rule constrain_child allows", metavar="TOOL", commas=True)] = ()
    text: Annotated[str, Arg("a paragraph for the end of its prompt, or what a skill, script or order says")] = ""
    kind: Annotated[
        Literal["", "setting", "skill", "script", "weight", "order", "playbook"],
        Arg("what else is changed", choices=("setting", "skill", "script", "weight", "order", "playbook")),
    ] = ""
    name: Annotated[str, Arg("of the setting, skill, script, weight or word of a playbook")] = ""
    value: Annotated[float | None, Arg("of a setting or weight", metavar="N")] = None
    after_web: bool = False  # whether a model proposes it that has read from the web


class WithdrawCandidate(Request, tag="evolution.withdraw", frozen=True, kw_only=True):
    """Withdraw a candidate, so that it is neither tried nor promoted."""

    candidate: Annotated[str, Arg("a candidate, as `evolve candidates` lists them", place="CANDIDATE")]


class PromoteCandidate(Request, tag="evolution.promote", frozen=True, kw_only=True):
    """Bring a candidate into force that passed its trial against the version in force now."""

    candidate: Annotated[str, Arg("a candidate, as `evolve candidates` lists them", place="CANDIDATE")]


class SplitTasks(Request, tag="evolution.split", frozen=True, kw_only=True):
    """Divide the real tasks of a role between the version in force and one with a candidate more, or end that."""

    candidate: Annotated[
        str, Arg("a candidate, as `evolve candidates` lists them; without one the test ends", place="CANDIDATE")
    ] = ""
    tasks: Annotated[int, Arg("tasks after which it ends by itself", metavar="N")] = 100
    reason: Annotated[str, Arg("why it ends", "-r")] = ""


class TakeCandidate(Request, tag="evolution.take", frozen=True, kw_only=True):
    """Take over a candidate whose effect nothing here can show, on a person's own word."""

    candidate: Annotated[str, Arg("a candidate, as `evolve candidates` lists them", place="CANDIDATE")]


class RollBack(Request, tag="evolution.rollback", frozen=True, kw_only=True):
    """Bring the version before into force again, or the one that is named, byte for byte."""

    version: Annotated[str, Arg("the beginning of its hash, or `root` for no edits at all", place="VERSION")] = ""
    reason: Annotated[str, Arg("why", "-r")] = ""
