"""Runs of schedules: what became of each time at which one was due.

A run has a key that is made of its schedule and of what made it due, so that it is carried out once however often
somebody looks. What becomes of runs that are due is decided here, from the times alone.
"""

from collections.abc import Sequence
from enum import StrEnum

import msgspec
from msgspec import Struct, field

from lumen_tui.model import times
from lumen_tui.model.digests import sha256
from lumen_tui.model.schedules import LATE, Schedule, ScheduleSource


class RunState(StrEnum):
    """What became of a run."""

    ASKED = "asked"  # by a person; the engine has not begun it
    BEGUN = "begun"  # decided and not yet carried out: whoever drives next carries it out
    QUEUED = "queued"  # it waits for the run before
    DONE = "run"
    SKIPPED = "skipped"
    MISSED = "missed"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"  # a person took back what they had asked for
    FROM_HERE = "from here"  # runs are due after this: the clock was set back, or the schedule got another time
    READ = "read"  # how far the signals were looked through


OPEN = (RunState.ASKED, RunState.BEGUN, RunState.QUEUED)
_MADE = "these were dealt with before the clock was set back"
_SETTLES = (RunState.BEGUN, RunState.QUEUED, RunState.SKIPPED, RunState.MISSED, RunState.FROM_HERE)
_FINAL = (RunState.BEGUN, RunState.QUEUED, RunState.DONE, RunState.SKIPPED, RunState.FAILED)


class ScheduledRun(Struct, frozen=True, omit_defaults=True):
    """One line of schedule-runs.jsonl; the last line of a key is the valid one."""

    schedule: str
    key: str
    state: RunState
    due: str
    at: str
    cause: str = "time"  # or change, signal, asked
    name: str = ""  # of the schedule, for those who read the history later
    makes: str = "task"
    made: str = ""  # the task or the signal
    text: str = ""  # of a wake: what the main agent is told
    by: str = ""  # who asked, or whose schedule it is
    about: str = ""  # the signal, or the first of the changed files
    why: str = ""
    first: str = ""  # of several that are recorded as one: the first of them, `due` is the last
    count: int = 1
    own: bool = False  # of a schedule of the agent
    order: bool = False  # of a schedule that is an order of the operator
    cursor: dict[str, object] = field(default_factory=dict)  # how far the signals are looked through
    schema: int = 1

    @property
    def due_at(self) -> float:
        """When it was due, in seconds since 1970."""
        return times.epoch(self.due)


class RunHistory(Struct):
    """What is known of the runs of one schedule."""

    settled: float = 0.0  # every time up to here is accounted for
    final: set[str] = field(default_factory=set)  # keys of runs that were made, or decided against for good
    open: dict[str, ScheduledRun] = field(default_factory=dict)
    last: ScheduledRun | None = None  # the newest that made something
    failed: ScheduledRun | None = None  # the newest, where it failed
    triggered: list[float] = field(default_factory=list)  # when triggers started it, the last hundred
    changed: float = 0.0  # the last time at which changed files were dealt with

    def take(self, run: ScheduledRun) -> None:
        """Take in a line, in the order in which they were written."""
        if run.cause == "time" and run.state in _SETTLES and run.key not in self.final:
            self.settled = run.due_at
        if run.state in _FINAL and run.key:
            self.final.add(run.key)
        if run.state in OPEN:
            self.open[run.key] = run
        else:
            self.open.pop(run.key, None)
        if run.state is RunState.DONE:
            self.last, self.failed = run, None
        elif run.state is RunState.FAILED:
            self.failed = run
        if run.state is RunState.BEGUN and run.cause in ("change", "signal"):
            self.triggered = [*self.triggered[-99:], times.epoch(run.at)]
        if run.cause == "change":
            self.changed = max(self.changed, run.due_at)


def key_of(schedule: Schedule, due: float | str) -> str:
    """Return the key of the run of this schedule at this time, or on this signal or change."""
    return f"{schedule.id}@{times.iso(due) if isinstance(due, float) else due}"


def begins(schedule: Schedule, due: float) -> float:
    """Return when the run that is due then begins: later by a draw that is always the same for it."""
    if not schedule.jitter:
        return due
    draw = int.from_bytes(bytes.fromhex(sha256(key_of(schedule, due).encode()))[:4], "big") / 2**32
    return due + schedule.jitter * draw


class Due(Struct, frozen=True):
    """The times at which a schedule was due and that are not accounted for: the newest ones, and how many in all."""

    newest: tuple[float, ...] = ()  # ascending
    count: int = 0
    first: float = 0.0
    more: bool = False  # there are more than were counted


class RunVerdict(Struct, frozen=True):
    """What is to become of runs that are due: records that end the matter, and those that are to be carried out."""

    settled: tuple[ScheduledRun, ...] = ()
    chosen: tuple[ScheduledRun, ...] = ()


def decide(schedule: Schedule, due: Due, known: RunHistory, now: float) -> RunVerdict:
    """Account for every time in `due`: run, skipped because of a pause, or missed, by the schedule's policy."""
    fresh = [at for at in due.newest if key_of(schedule, at) not in known.final]
    if not fresh:
        return RunVerdict((_range(schedule, due, RunState.FROM_HERE, now, _MADE),) if due.count else ())
    if not schedule.active:
        return RunVerdict((_range(schedule, due, RunState.MISSED, now, "not run in time before it was removed"),))
    if schedule.paused:
        return RunVerdict((_range(schedule, due, RunState.SKIPPED, now, schedule.pause_words),))
    held = [at for at in fresh if _in_pause(schedule, at)]
    free = [at for at in fresh if at not in held]
    settled = [_one(schedule, at, RunState.SKIPPED, now, schedule.pause_words) for at in held]
    chosen = _by_policy(schedule, free, now)
    before = due.count - len(due.newest)
    lost = [at for at in free if at not in chosen]
    if before or lost:
        part = Due(tuple(lost), before + len(lost), due.first if before else lost[0], due.more)
        last = lost[-1] if lost else max(due.first, due.newest[0] - 1)
        settled.insert(0, _range(schedule, part, RunState.MISSED, now, _why_missed(schedule, chosen), last))
    return RunVerdict(tuple(settled), tuple(_one(schedule, at, RunState.BEGUN, now) for at in chosen))


def _by_policy(schedule: Schedule, free: Sequence[float], now: float) -> list[float]:
    on_time = [at for at in free if now - begins(schedule, at) <= LATE]
    late = [at for at in free if at not in on_time]
    if schedule.missed == "all":
        return [*late[-schedule.most :], *on_time]
    return on_time or (late[-1:] if schedule.missed == "once" else [])


def _why_missed(schedule: Schedule, chosen: Sequence[float]) -> str:
    if schedule.missed == "skip":
        return "not run in time; missed runs are skipped"
    if not chosen:
        return "not run in time"
    many = f"the last {schedule.most}" if schedule.missed == "all" else "one run"
    return f"not run in time; {many} made up for it"


def _in_pause(schedule: Schedule, at: float) -> bool:
    if not schedule.paused_at:
        return False
    return times.epoch(schedule.paused_at) <= at <= times.epoch(schedule.resumed_at, at)


def _one(schedule: Schedule, at: float, state: RunState, now: float, reason: str = "") -> ScheduledRun:
    return new_run(schedule, key_of(schedule, at), state, at, now, reason=reason)


def _range(schedule: Schedule, due: Due, state: RunState, now: float, reason: str, last: float = 0.0) -> ScheduledRun:
    """Record several times as one line, which has no key: none of them was begun."""
    more = " (and more before them)" if due.more else ""
    run = new_run(schedule, "", state, last or due.newest[-1], now, reason=reason + more)
    return msgspec.structs.replace(run, first=times.iso(due.first), count=due.count)


def new_run(
    schedule: Schedule, key: str, state: RunState, due: float, now: float, *, cause: str = "time", reason: str = "",
    about: str = "",
) -> ScheduledRun:  # fmt: skip
    """Return a record of a run of this schedule."""
    return ScheduledRun(
        schedule=schedule.id,
        key=key,
        state=state,
        due=times.iso(due),
        at=times.iso(now),
        cause=cause,
        name=schedule.name,
        makes=schedule.makes,
        by=schedule.created_by,
        about=about,
        why=reason,
        own=schedule.source is ScheduleSource.AGENT,
        order=schedule.order,
    )


class ScheduleView(Struct, frozen=True):
    """A schedule as the operator sees it. `next` is in seconds since 1970: 0 where no time is to come, or paused."""

    schedule: Schedule
    next: float = 0.0
    open: int = 0  # runs that wait or are asked for
    last: ScheduledRun | None = None
    recent: tuple[ScheduledRun, ...] = ()  # newest first

    @property
    def state(self) -> str:
        """`paused`, or what becomes of it."""
        return "paused" if self.schedule.paused else str(self.schedule.status)


class Upcoming(Struct, frozen=True):
    """A run to come, for where one line has to do."""

    name: str
    at: float  # seconds since 1970
