"""Requests about the tasks of workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lumen_tui.model.requests.base import Request


class NewTask(Request, tag="task.new", frozen=True, kw_only=True):
    """Queue a task. The same `key` gives the same task."""

    objective: str
    role: str = "researcher"
    model: str = ""
    constraints: Sequence[str] = ()
    context: str = ""
    wu_id: str = ""
    lane: str = ""
    priority: str = "P2"
    timeout_seconds: float = 0.0
    depends_on: Sequence[str] = ()
    id: str = ""
    key: str = ""
    budget: Mapping[str, Any] | None = None


class CancelTask(Request, tag="task.cancel", frozen=True, kw_only=True):
    """Ask the engine to stop a task, or not to begin it. `after="step"` lets the running tool call end."""

    task_id: str
    reason: str = ""
    after: str = ""


class RetryTask(Request, tag="task.retry", frozen=True, kw_only=True):
    """Queue a new task with the spec of one that ended; `budget` replaces caps of the old one."""

    task_id: str
    budget: Mapping[str, Any] | None = None


class EditTask(Request, tag="task.edit", frozen=True, kw_only=True):
    """Change a task that is still queued."""

    task_id: str
    changes: Mapping[str, Any]
