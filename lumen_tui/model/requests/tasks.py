"""Requests about the tasks of workers."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request


class NewTask(Request, tag="task.new", frozen=True, kw_only=True):
    """Queue a task. The same `key` gives the same task."""

    objective: Annotated[str, Arg("what is to be found out or done, whole in itself", place="OBJECTIVE")]
    role: Annotated[str, Arg("who does it")] = "researcher"
    model: Annotated[str, Arg("a tier or model id instead of the role's own")] = ""
    constraints: Annotated[Sequence[str], Arg("a rule, such as 'Read only'", "-c", "--constraint")] = ()
    accept: Annotated[
        Sequence[str],
        Arg("what proves it: 'command: make test', 'file: dist/*.whl', 'fact: port 8080'", metavar="CHECK"),
    ] = ()
    context: Annotated[str, Arg("all that the worker must know: it has no memory and asks nobody")] = ""
    folder: Annotated[
        str, Arg("where relative names in the objective count from; '' is nowhere [here]", metavar="DIR")
    ] = ""
    isolate: Annotated[
        str, Arg("it changes a worktree or a copy of its own [the role's]", choices=("worktree", "copy"))
    ] = ""
    host: Annotated[str, Arg("the host that does it, or `any` [this machine]")] = ""
    resources: Annotated[
        Sequence[str], Arg("what it takes of that host, such as gpu or gpu=2", "--resource", metavar="NAME[=N]")
    ] = ()
    wu_id: Annotated[str, Arg("the work unit it belongs to, such as WU-042", "--wu")] = ""
    lane: Annotated[str, Arg("the lane, the stream of work", "-l")] = ""
    priority: Annotated[str, Arg("P0 to P3", "-p")] = "P2"
    timeout_seconds: Annotated[
        float, Arg("the longest it may take, such as 90s or 10m [the role's]", "--timeout", duration=True)
    ] = 0.0
    steps: Annotated[int, Arg("tool calls altogether [the role's]")] = 0
    depends_on: Annotated[Sequence[str], Arg("a task that must be done first", metavar="ID")] = ()
    id: Annotated[str, Arg("an id of your own, such as task-001")] = ""
    key: Annotated[str, Arg("the same key gives the same task, however often it is asked for")] = ""
    budget: Mapping[str, object] | None = None


class CancelTask(Request, tag="task.cancel", frozen=True, kw_only=True):
    """Ask the engine to stop a task, or not to begin it. `after="step"` lets the running tool call end."""

    task_id: Annotated[str, Arg("the task, or the beginning of its id", place="ID")]
    reason: Annotated[str, Arg("why, for the record")] = ""
    after: Annotated[str, Arg("step: let the current tool call finish")] = ""


class RetryTask(Request, tag="task.retry", frozen=True, kw_only=True):
    """Queue a new task with the spec of one that ended; `budget` replaces caps of the old one."""

    task_id: Annotated[str, Arg("the task, or the beginning of its id", place="ID")]
    key: Annotated[str, Arg("the same key gives the same task, however often it is asked for")] = ""
    budget: Mapping[str, object] | None = None


class TellTask(Request, tag="task.tell", frozen=True, kw_only=True):
    """Say something to a task that runs: its worker's next request to the model holds it, as an order of the operator.

    Undo takes it back until it was read.
    """

    task_id: Annotated[str, Arg("the task, or the beginning of its id", place="ID")]
    text: Annotated[str, Arg("what it is to do otherwise, or to know", place="TEXT")]


class LimitTask(Request, tag="task.limit", frozen=True, kw_only=True):
    """Change how far a task may go, also while it runs: its worker keeps to it from its next request on.

    What is not given stays; 0 takes the task's own limit away, so that the role's holds.
    """

    task_id: Annotated[str, Arg("the task, or the beginning of its id", place="ID")]
    steps: Annotated[int | None, Arg("tool calls altogether")] = None
    timeout_seconds: Annotated[
        float | None, Arg("the longest it may take altogether, such as 10m or 2h", "--timeout", duration=True)
    ] = None
    tokens: Annotated[int | None, Arg("the most tokens it may use")] = None
    usd: Annotated[float | None, Arg("the most it may cost, in dollars")] = None


class EditTask(Request, tag="task.edit", frozen=True, kw_only=True):
    """Change a task that is still queued."""

    task_id: Annotated[str, Arg("the task, or the beginning of its id", place="ID")]
    changes: Mapping[str, object]
