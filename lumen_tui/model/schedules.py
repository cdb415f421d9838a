"""Schedules: what is to be done by time, on changed files or on signals."""

import fnmatch
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, field

from lumen_tui.model import globs, times

# Of the main agent's own sleep: one schedule, replaced at the end of each loop.
SLEEP, SLEEP_NAME = "sch-sleep", "agent-sleep"
SENDER = "schedule "  # before the name of a schedule, where it sends a signal or makes a task
SHORTEST = 60.0  # seconds between two runs of any schedule
LATE = 60.0  # seconds behind its time from which a run counts as missed
MOST_JITTER = times.HOUR
MOST_ACTIVE = 200  # schedules at once
MOST_QUEUED = 10  # runs of one schedule that wait for the one before
MOST_TRIGGERED = 12  # runs within an hour that one trigger starts
MOST_TEXT = 8000  # characters
FIELDS = ("kind", "from", "to", "text", "priority", "wu")  # of a signal, by which a trigger chooses
MISSED = ("skip", "once", "all")
OVERLAP = ("skip", "queue")
MAKES = ("task", "signal", "wake")


class ScheduleError(ValueError):
    """A schedule that makes no sense, or that nobody may have: the text says why and what to write instead."""


class ScheduleStatus(StrEnum):
    """Whether a schedule is in force."""

    ACTIVE = "active"
    OVER = "over"  # it had one time, and that was dealt with
    REMOVED = "removed"


class ScheduleSource(StrEnum):
    """Where a schedule comes from."""

    OPERATOR = "operator"
    SETTINGS = "settings"
    AGENT = "agent"


class Schedule(Struct, frozen=True, omit_defaults=True):
    """One line of schedules.jsonl; the last line of an id is the valid one."""

    id: str
    name: str
    text: str = ""  # the objective, the message, or what the main agent is told
    when: str = ""  # `0 9 * * 1-5`, `every 90m`, `at 2026-11-24 09:00`; empty: triggers alone
    zone: str = "UTC"  # IANA, in which `when` is read
    makes: str = "task"
    role: str = "researcher"
    model: str = ""
    to: str = ""  # of a signal
    wu_id: str = ""
    lane: str = ""
    priority: str = ""
    accept: tuple[str, ...] = ()  # of a task
    isolate: str = ""  # of a task: worktree | copy; empty: as its role says
    usd: float = 0.0  # the most that one run may spend; 0: no limit of its own
    timeout_seconds: float = 0.0
    missed: str = "once"
    most: int = 3  # missed runs that are made up for, where `missed` is `all`
    overlap: str = "skip"
    jitter: float = 0.0  # seconds after its time within which a run begins, by a fixed draw
    on_change: tuple[str, ...] = ()
    folder: str = ""  # of the patterns in `on_change`, of the checks in `accept`, and what `isolate` is of
    settle: float = 5.0  # seconds without a further change before changed files start a run
    on_signal: dict[str, str] = field(default_factory=dict)
    since: str = ""  # what was due before is not due
    paused_at: str = ""
    paused_by: str = ""
    paused_why: str = ""
    resumed_at: str = ""  # the end of that pause; empty while it lasts
    source: ScheduleSource = ScheduleSource.OPERATOR
    order: bool = False  # whether whoever made it was seen to be the operator: its runs are orders
    status: ScheduleStatus = ScheduleStatus.ACTIVE
    created_by: str = ""
    created_at: str = ""
    schema: int = 1

    @property
    def active(self) -> bool:
        """Whether it is in force; it may be paused."""
        return self.status is ScheduleStatus.ACTIVE

    @property
    def paused(self) -> bool:
        """Whether a person holds it."""
        return bool(self.paused_at) and not self.resumed_at

    @property
    def pause_words(self) -> str:
        """Say who paused it, and why."""
        return f"paused by {self.paused_by}" + (f": {self.paused_why}" if self.paused_why else "")

    @property
    def once(self) -> bool:
        """Whether it has one time."""
        return self.when.startswith("at ")

    @property
    def trigger_words(self) -> str:
        """What starts it, in words."""
        parts = [self.when and f"{self.when} ({self.zone})"]
        parts += [f"on change of {', '.join(self.on_change)}" if self.on_change else ""]
        matches = ", ".join(f"{name}:{value}" for name, value in self.on_signal.items())
        parts += [f"on signal {matches}" if matches else ""]
        return "; ".join(part for part in parts if part)


def signal_match(words: Iterable[str]) -> dict[str, str]:
    """Return what a signal must have from words such as `kind:blocked`. ScheduleError for one that is none."""
    pairs = [word.partition(":") for word in words]
    if wrong := [name for name, colon, value in pairs if not colon or not value]:
        raise ScheduleError(f"{wrong[0]!r} is no match: write FIELD:VALUE, such as kind:blocked or from:agent-*")
    return {name: value for name, _, value in pairs}


def matches(wanted: dict[str, str], signal: dict[str, str]) -> bool:
    """Return whether a signal has what a trigger asks for: words in its text, patterns such as `agent-*` elsewhere."""
    return all(
        value.casefold() in signal.get(name, "").casefold()
        if name == "text"
        else fnmatch.fnmatchcase(signal.get(name, "").casefold(), value.casefold())
        for name, value in wanted.items()
    )


def concerns(schedule: Schedule, path: str) -> bool:
    """Return whether a change of this path, below the schedule's folder, is one that starts it."""
    return any(globs.path_pattern(pattern).fullmatch(path) for pattern in schedule.on_change)
