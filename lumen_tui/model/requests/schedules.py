"""Requests about schedules."""

from collections.abc import Sequence
from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request
from lumen_tui.model.schedules import MAKES, MISSED, OVERLAP


class AddSchedule(Request, tag="schedule.add", frozen=True, kw_only=True):
    """Have something done by time, on changed files or on signals."""

    name: Annotated[str, Arg("its name, such as nightly-tests", place="NAME")]
    text: Annotated[str, Arg("the task's objective, the signal's message, or what the agent is told", place="TEXT")]
    when: Annotated[str, Arg("'0 9 * * 1-5', 'every 90m', 'at 2026-11-24 09:00' or 'in 2h'", "-w")] = ""
    zone: Annotated[str, Arg("IANA time zone, such as Europe/Berlin [that of the settings, else this machine's]")] = ""
    makes: Annotated[str, Arg("a task for a role, a signal, or the main agent awake", "--as", choices=MAKES)] = "task"
    role: Annotated[str, Arg("who does the task")] = "researcher"
    model: Annotated[str, Arg("a tier or model id instead of the role's own")] = ""
    to: Annotated[str, Arg("the agent that the signal is meant for")] = ""
    wu_id: Annotated[str, Arg("the work unit it belongs to, such as WU-042", "--wu")] = ""
    lane: Annotated[str, Arg("the lane, the stream of work", "-l")] = ""
    priority: Annotated[str, Arg("P0 to P3", "-p")] = ""
    accept: Annotated[Sequence[str], Arg("what proves a task done, such as 'command: make test'", metavar="CHECK")] = ()
    isolate: Annotated[
        str, Arg("the task changes a worktree or a copy of --folder [the role's]", choices=("worktree", "copy"))
    ] = ""
    usd: Annotated[float, Arg("the most dollars that one task may spend")] = 0.0
    timeout_seconds: Annotated[float, Arg("the longest a task may take [the role's]", "--timeout", duration=True)] = 0.0
    missed: Annotated[str, Arg("what becomes of runs that nothing drove in time", choices=MISSED)] = "once"
    most: Annotated[int, Arg("missed runs that `--missed all` makes up for at most", metavar="N")] = 3
    overlap: Annotated[str, Arg("where the task before still runs", choices=OVERLAP)] = "skip"
    jitter: Annotated[float, Arg("begin up to so much later, such as 5m", duration=True)] = 0.0
    on_change: Annotated[Sequence[str], Arg("run when these files change, such as 'src/**'", metavar="PATTERN")] = ()
    folder: Annotated[
        str, Arg("where these files are, where --accept counts from, what the task is about [here]", metavar="DIR")
    ] = ""
    settle: Annotated[float, Arg("how long nothing else must change before it runs", duration=True)] = 5.0
    on_signal: Annotated[
        Sequence[str], Arg("run on a signal like this: kind:, from:, to:, text:, priority:, wu:", metavar="FIELD:VALUE")
    ] = ()


class RemoveSchedule(Request, tag="schedule.remove", frozen=True, kw_only=True):
    """Remove a schedule. What it made stays."""

    name: Annotated[str, Arg("its name or id", place="NAME")]


class PauseSchedule(Request, tag="schedule.pause", frozen=True, kw_only=True):
    """Skip the runs of a schedule until it is resumed; each is recorded."""

    name: Annotated[str, Arg("its name or id", place="NAME")]
    reason: Annotated[str, Arg("why, for the record", "-r")] = ""


class ResumeSchedule(Request, tag="schedule.resume", frozen=True, kw_only=True):
    """Let a paused schedule go on from now."""

    name: Annotated[str, Arg("its name or id", place="NAME")]


class RunSchedule(Request, tag="schedule.run", frozen=True, kw_only=True):
    """Ask for a run now, beside those that are due by themselves; the engine begins it, paused or not."""

    name: Annotated[str, Arg("its name or id", place="NAME")]
