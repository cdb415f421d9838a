"""Ending a task from outside: the request to its worker, and the exit record where no worker can write it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lumen_tui.model.tasks import Exit, Run
from lumen_tui.model.times import iso
from lumen_tui.storage import files
from lumen_tui.storage.process import ProcessId


def identity(run: Run) -> ProcessId:
    """Return the process that a run names."""
    return ProcessId(pid=run.pid, start_ticks=run.start_ticks, boot_id=run.boot_id)


def write_exit(folder: Path, task_id: str, status: str, reason: str, *, attempt: int, now: float) -> None:
    """Write the exit of a task that has no worker to do it."""
    record = Exit(task_id=task_id, status=status, reason=reason, attempt=attempt, finished_at=iso(now))
    files.replace(folder / "exit.json", msgspec.json.encode(record))


def ask_to_stop(folder: Path, status: str, reason: str, after: str = "now") -> None:
    """Ask a worker to end, `now` or after its `step`; `status` is what the task counts as then."""
    files.replace(folder / "stop.json", msgspec.json.encode({"status": status, "reason": reason, "after": after}))
