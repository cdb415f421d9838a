"""Requests about the change lists of tasks that worked apart."""

from collections.abc import Sequence
from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request

_TASK = Arg("the task, or the beginning of its id", place="ID")
_PATHS = Arg("a file, a folder, or FILE:1,3 for single hunks [all]", place="PATH")


class AcceptChanges(Request, tag="changes.accept", frozen=True, kw_only=True):
    """Bring changes of a task into your files, where they still fit."""

    task_id: Annotated[str, _TASK]
    paths: Annotated[Sequence[str], _PATHS] = ()
    fitting: Annotated[bool, Arg("accept what fits, and leave the rest open")] = False


class DropChanges(Request, tag="changes.drop", frozen=True, kw_only=True):
    """Decide against changes of a task; your files stay as they are."""

    task_id: Annotated[str, _TASK]
    paths: Annotated[Sequence[str], _PATHS] = ()


class WriteChange(Request, tag="changes.write", frozen=True, kw_only=True):
    """Bring a file in as a person edited it; the content is kept with the list, under its hash."""

    task_id: Annotated[str, _TASK]
    path: Annotated[str, Arg("the file", place="PATH")]
    sha256: str


class CommitChanges(Request, tag="changes.commit", frozen=True, kw_only=True):
    """Commit what was not dropped to a new branch; your working tree and your branch stay as they are."""

    task_id: Annotated[str, _TASK]
    branch: Annotated[str, Arg("the new branch [lumen/ID]")] = ""
    message: Annotated[str, Arg("the commit's message [the objective]", "-m")] = ""


class PushBranch(Request, tag="changes.push", frozen=True, kw_only=True):
    """Push the branch of a task to a server: the approval is yours, and it cannot be taken back from here."""

    task_id: Annotated[str, _TASK]
    remote: Annotated[str, Arg("the remote")] = "origin"
    pull_request: Annotated[bool, Arg("open a pull request with `gh` as well", "--pr")] = False


class GiveConflicts(Request, tag="changes.give", frozen=True, kw_only=True):
    """Give files that no longer fit to a worker, which brings both sides together; prints the new task's id."""

    task_id: Annotated[str, _TASK]
    paths: Annotated[Sequence[str], Arg("a file [those that do not fit]", place="PATH")] = ()
    role: Annotated[str, Arg("who does it")] = "builder"
