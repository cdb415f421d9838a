"""What the worker process gives its task: folder, clocks, totals, and its way to the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, field

from lumen_tui.model.roles import rule_sentence
from lumen_tui.model.tasks import Usage
from lumen_tui.storage.store import Store
from lumen_tui.tools.base import TaskRules
from lumen_tui.worker.engine_link import EngineLink
from lumen_tui.worker.stopping import Stopper


class World(Struct, frozen=True, eq=False):
    """What the process gives a task: its folder, time, environment, stopper, redactor, and its way to the engine."""

    folder: Path
    now: Callable[[], float]
    monotonic: Callable[[], float]
    environ: Mapping[str, str]
    stopper: Stopper
    redact: Callable[[str], str]
    link: EngineLink | None = None  # to the engine, where that is on another machine

    @property
    def store(self) -> Store:
        return Store(self.folder.parent.parent)


class TaskTally(Struct, eq=False):
    """What exit.json reports; filled as the task goes on, so that it is there however the task ends."""

    brain: str = ""
    usage: Usage = field(default_factory=Usage)
    attempt: int = 1
    session: str = ""  # the transcript of this attempt
    has_checks: bool = False  # what it ends with is a claim, until those were run
    seconds: float = 0.0  # of the time limit that an attempt before has used
    cap: str = ""  # the key of the cap that it ran into
    unanswered: bool = False  # a call of the model had no answer, and that ended it


def rules_for_record(rules: TaskRules) -> list[str]:
    """List for the event log which constraints are enforced, by which rules, and which are only advice."""
    return [
        *[f"enforced: {text}" for text in rules.enforced],
        *[f"rule: {rule_sentence(rule)}" for rule in rules.tool_rules],
        *[f"advice, not enforced: {text}" for text in rules.advice],
    ]
