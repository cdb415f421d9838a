"""What the worker process and its task share: folder, clocks, environment, running totals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lumen_tui.model.tasks import Usage
from lumen_tui.storage.store import Store
from lumen_tui.worker.stopping import Stopper


@dataclass(frozen=True)
class World:
    """What the process gives a task: its folder, time, environment, stopper and redactor."""

    folder: Path
    now: Callable[[], float]
    monotonic: Callable[[], float]
    environ: Mapping[str, str]
    stopper: Stopper
    redact: Callable[[str], str]

    @property
    def store(self) -> Store:
        return Store(self.folder.parent.parent)


@dataclass
class TaskTally:
    """What exit.json reports; filled as the task goes on, so that it is there however the task ends."""

    brain: str = ""
    usage: Usage = field(default_factory=Usage)
    attempt: int = 1
    session: str = ""  # the transcript of this attempt
