"""Requests about approvals and about what needs a person."""

from collections.abc import Sequence
from typing import Annotated

from lumen_tui.model.approvals import ROLE, SCOPES
from lumen_tui.model.requests.base import Arg, Request

_HASH = Arg("only if this is its hash, as `approvals show` prints it")


class DismissItems(Request, tag="attention.dismiss", frozen=True, kw_only=True):
    """Dismiss these items; `targets` are the targets of queue entries."""

    targets: Annotated[
        str | Sequence[str], Arg("the name in its row of `attention list`; a unique beginning will do", place="NAME")
    ]
    reason: Annotated[str, Arg("why", "-r")] = ""


class SnoozeItems(Request, tag="attention.snooze", frozen=True, kw_only=True):
    """Hide these items for some seconds; they come back by themselves."""

    targets: Annotated[
        str | Sequence[str], Arg("the name in its row of `attention list`; a unique beginning will do", place="NAME")
    ]
    seconds: Annotated[float, Arg("how long, such as 30m or 2d [1h]", "--for", metavar="AGE", duration=True)] = 3600.0
    reason: Annotated[str, Arg("why", "-r")] = ""


class RestoreItems(Request, tag="attention.back", frozen=True, kw_only=True):
    """Put dismissed or snoozed items back on the list at once."""

    targets: Annotated[
        str | Sequence[str], Arg("the name in its row of `attention list`; a unique beginning will do", place="NAME")
    ]
    reason: Annotated[str, Arg("why", "-r")] = ""


class AllowCalls(Request, tag="approval.allow", frozen=True, kw_only=True):
    """Allow these calls once. `hash` is that of the call as it was shown, where a single one is answered."""

    approval_ids: Annotated[str | Sequence[str], Arg("the question, or the beginning of its id", place="ID")]
    reason: Annotated[str, Arg("goes back to the worker", "-r")] = ""
    hash: Annotated[str, _HASH] = ""


class DenyCalls(Request, tag="approval.deny", frozen=True, kw_only=True):
    """Refuse these calls; the reason goes back to the worker."""

    approval_ids: Annotated[str | Sequence[str], Arg("the question, or the beginning of its id", place="ID")]
    reason: Annotated[str, Arg("goes back to the worker", "-r")] = ""
    hash: Annotated[str, _HASH] = ""


class AllowAlways(Request, tag="approval.allow_always", frozen=True, kw_only=True):
    """Allow a call, and save the rule that `model.approvals.preview_rule` shows."""

    approval_id: Annotated[str, Arg("the question, or the beginning of its id", place="ID")]
    pattern: Annotated[str, Arg("with --always: what the rule covers [this very call]")] = ""
    scope: Annotated[
        str, Arg("with --always: for every task of the role, or for this task until it ends [role]", choices=SCOPES)
    ] = ROLE
    reason: Annotated[str, Arg("goes back to the worker", "-r")] = ""
    hash: Annotated[str, _HASH] = ""


class AnswerQuestion(Request, tag="question.answer", frozen=True, kw_only=True):
    """Answer a question of a worker or the main agent; undo takes the answer back until it was read.

    The number of an option stands for that option. `hash` is that of the question as it was shown.
    """

    question_id: Annotated[str, Arg("the question, or the beginning of its id", place="ID")]
    answer: Annotated[str, Arg("the answer, or the number of one that is offered", place="ANSWER")]
    hash: Annotated[str, _HASH] = ""


class ForgetRule(Request, tag="approval.forget", frozen=True, kw_only=True):
    """Remove a rule by its number in the list of rules in force, from 1: the same calls ask again from then on."""

    number: Annotated[int, Arg("as `approvals rules` numbers it", place="NUMBER")]
    reason: Annotated[str, Arg("why", "-r")] = ""
