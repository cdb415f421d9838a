"""Requests about the engine, its budget, settings, and undo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumen_tui.model.requests.base import Request


class ChangeSettings(Request, tag="setting.change", frozen=True, kw_only=True):
    """Set dotted keys such as `memory.decay.threshold`; None restores what lumen.toml says."""

    changes: Mapping[str, Any]


class RaiseBudget(Request, tag="budget.raise", frozen=True, kw_only=True):
    """Raise today's cap, or that of one role."""

    tokens: int = 0
    usd: float = 0.0
    minutes: float = 0.0
    role: str = ""
    reason: str = ""


class KillAgent(Request, tag="kill", frozen=True, kw_only=True):
    """End every worker at once and start nothing until `unkill`; needs no engine and waits for none."""

    reason: str = ""


class UnkillAgent(Request, tag="unkill", frozen=True, kw_only=True):
    """Let the engine go on; the summary says who killed it, when and why."""


class RequestBeat(Request, tag="engine.beat", frozen=True, kw_only=True):
    """Request a beat at once."""


class PauseAgent(Request, tag="engine.pause", frozen=True, kw_only=True):
    """Request a pause: of everything, the `loop`, a `role:NAME`, or the worker of a task."""

    reason: str = ""
    target: str = ""
    seconds: float = 0.0
    after: str = ""


class ResumeAgent(Request, tag="engine.resume", frozen=True, kw_only=True):
    """Request the end of a pause: of one scope, or of everything including what is paused by itself."""

    target: str = ""


class StopEngine(Request, tag="engine.stop", frozen=True, kw_only=True):
    """Request the engine's end. Its workers go on (`step`), it waits for them (`task`), or they end with it (`now`)."""

    reason: str = ""
    after: str = ""


class Undo(Request, tag="undo", frozen=True, kw_only=True):
    """Undo what the operator did last in this client, or the named action of theirs, and nothing more."""

    action_id: str = ""


class Redo(Request, tag="redo", frozen=True, kw_only=True):
    """Redo what was undone last, unless something else was done since."""

    action_id: str = ""
