"""Requests about the engine, its budget, settings, and undo."""

from collections.abc import Mapping
from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request


class ChangeSettings(Request, tag="setting.change", frozen=True, kw_only=True):
    """Set dotted keys such as `memory.decay.threshold`; None restores what lumen.toml says."""

    changes: Mapping[str, object]


class RaiseBudget(Request, tag="budget.raise", frozen=True, kw_only=True):
    """Raise today's cap, or that of one role."""

    tokens: Annotated[int, Arg("more tokens for today")] = 0
    usd: Annotated[float, Arg("more dollars for today")] = 0.0
    minutes: Annotated[float, Arg("more minutes for today")] = 0.0
    role: Annotated[str, Arg("the cap of this role instead of the day's")] = ""
    reason: Annotated[str, Arg("why", "-r")] = ""


class KillAgent(Request, tag="kill", frozen=True, kw_only=True):
    """End every worker at once and start nothing until `unkill`; needs no engine and waits for none."""

    reason: Annotated[str, Arg("why", "-r")] = ""


class UnkillAgent(Request, tag="unkill", frozen=True, kw_only=True):
    """Let the engine go on; the summary says who killed it, when and why."""


class RequestBeat(Request, tag="engine.beat", frozen=True, kw_only=True):
    """Request a beat at once."""


class PauseAgent(Request, tag="engine.pause", frozen=True, kw_only=True):
    """Request a pause: of everything, the `loop`, a `role:NAME`, or the worker of a task."""

    reason: Annotated[str, Arg("why, for everybody to see")] = ""
    target: str = ""
    seconds: Annotated[float, Arg("such as 2h [until resume]", "--for", duration=True)] = 0.0
    after: Annotated[str, Arg("workers pause after their: task [all], step [one worker], or now")] = ""


class ResumeAgent(Request, tag="engine.resume", frozen=True, kw_only=True):
    """Request the end of a pause: of one scope, or of everything including what is paused by itself."""

    target: str = ""


class StopEngine(Request, tag="engine.stop", frozen=True, kw_only=True):
    """Request the engine's end. Its workers go on (`step`), it waits for them (`task`), or they end with it (`now`)."""

    reason: Annotated[str, Arg("why, for the record")] = ""
    after: Annotated[str, Arg("step: workers go on [step]; task: when they are done; now: with them")] = ""


class Undo(Request, tag="undo", frozen=True, kw_only=True):
    """Undo what the operator did last in this client, or the named action of theirs, and nothing more."""

    action_id: Annotated[str, Arg("the id of one of your actions instead of the last", place="ACTION")] = ""


class Redo(Request, tag="redo", frozen=True, kw_only=True):
    """Redo what was undone last, unless something else was done since."""

    action_id: Annotated[str, Arg("the id of one of your actions instead of the last", place="ACTION")] = ""
