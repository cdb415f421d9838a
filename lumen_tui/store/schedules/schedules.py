"""The journals of schedules and of their runs. The engine alone decides runs; a person asks for one, or pauses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE, decode_safe, lazy_decoder
from lumen_tui.model.problem import Problem
from lumen_tui.model.schedule_runs import OPEN, RunHistory, ScheduledRun
from lumen_tui.model.schedules import Schedule, ScheduleStatus
from lumen_tui.storage import files
from lumen_tui.storage.damage import Damage
from lumen_tui.storage.journal import Follower, Journal, encode, whole_lines
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.store.memory import nodes

_RETAINED = 500  # runs of one schedule that a shortened journal keeps
_LONG = 4 * 1024 * 1024  # bytes from which the journal of runs is shortened
_schedule = lazy_decoder(Schedule)
_run = lazy_decoder(ScheduledRun)
Known = dict[str, Schedule]
Actions = Callable[[], bytes]  # lines of actions for what is appended


def read(layout: Layout) -> Known:
    """Return the schedules that there are, in the order in which they were first written; removed ones too."""
    return _latest(Journal(layout.schedules).lines())


def _latest(lines: Iterable[bytes]) -> Known:
    known: Known = {}
    for line in lines:
        try:
            schedule = _schedule.decode(line)
        except UNDECODABLE:
            continue  # the doctor and the room's problems name damaged lines
        known[schedule.id] = schedule
    return known


def change(
    layout: Layout, decide: Callable[[Known], Iterable[Schedule]], actions: Callable[[], bytes] = lambda: b""
) -> list[Schedule]:
    """Append what `decide` returns of the schedules that there are, under the journal's lock, with its actions.

    Where it raises, nothing is written.
    """
    if not layout.schedules.exists():
        decide({})  # what is refused leaves no empty file
    with files.locked_log(layout.schedules) as fd:
        changed = list(decide(_latest(whole_lines(fd))))
        if changed:
            nodes.append_both(layout, fd, b"".join([encode(schedule) for schedule in changed]), actions())
    return changed


def put(layout: Layout, schedule: Schedule) -> bool:
    """Write a schedule unless it is there as it is; return whether it was written."""
    return bool(change(layout, lambda known: [] if known.get(schedule.id) == schedule else [schedule]))


def runs(layout: Layout) -> Iterator[ScheduledRun]:
    """Yield every record of runs, oldest first."""
    return Journal(layout.schedule_runs).records(ScheduledRun)


def valid_runs(layout: Layout) -> dict[str, ScheduledRun]:
    """Return the valid record of each run, by its key; what was recorded as one has a key of its own, by its place."""
    return {run.key or f"#{number}": run for number, run in enumerate(runs(layout)) if run.schedule}


def append_runs(layout: Layout, records: Iterable[ScheduledRun], actions: bytes = b"") -> None:
    """Append records of runs durably, in one write, with the actions that they belong to."""
    lines = b"".join([encode(record) for record in records])
    with files.locked_log(layout.schedule_runs) as fd:
        nodes.append_both(layout, fd, lines, actions)


class ScheduleBook:
    """Follows both journals; each line is read once. Texts are safe. Not for use by two threads at once."""

    def __init__(self, layout: Layout) -> None:
        self._followers = (Follower(layout.schedules), Follower(layout.schedule_runs))
        self._generations = [-1, -1]
        self._damage = [Damage(follower.path.name, follower) for follower in self._followers]
        self.schedules: Known = {}
        self._histories: dict[str, RunHistory] = {}
        self.cursor: dict[str, object] = {}  # how far the signals were looked through for triggers
        self.days: dict[str, int] = {}  # runs of the agent's own schedules, by day (UTC)
        self.revision = 0

    def close(self) -> None:
        """Close both journals."""
        for follower in self._followers:
            follower.close()

    def refresh(self) -> bool:
        """Read what is new; return whether there was anything. Two `stat` calls where nothing is."""
        news = False
        for number, follower in enumerate(self._followers):
            if follower.pending():
                news = True
                self._follow(number, follower)
        self.revision += news
        return news

    def _follow(self, number: int, follower: Follower) -> None:
        for offset, data in follower.pieces():
            self._forget_replaced(number, follower)
            for at, line in split_lines(data, offset):
                try:
                    self._take(line, number)
                except UNDECODABLE as error:
                    self._damage[number].add(at, str(error))
        self._forget_replaced(number, follower)

    def _forget_replaced(self, number: int, follower: Follower) -> None:
        if follower.generation == self._generations[number]:
            return
        self._generations[number] = follower.generation
        if number == 0:
            self.schedules = {}
        else:
            self._histories, self.cursor, self.days = {}, {}, {}

    def _take(self, line: bytes, number: int) -> None:
        if number == 0:
            schedule = decode_safe(line, Schedule)
            self.schedules[schedule.id] = schedule
            return
        run = decode_safe(line, ScheduledRun)
        if run.cursor:
            self.cursor = run.cursor
        if run.schedule:
            self._histories.setdefault(run.schedule, RunHistory()).take(run)
        if run.own and run.state == "begun":
            self.days[run.at[:10]] = self.days.get(run.at[:10], 0) + 1

    def history(self, schedule: Schedule) -> RunHistory:
        """Return what is known of the runs of a schedule; of a new one that nothing before its beginning is due."""
        known = self._histories.setdefault(schedule.id, RunHistory())
        known.settled = known.settled or times.epoch(schedule.since)
        return known

    @property
    def active(self) -> list[Schedule]:
        """The schedules in force, paused ones too."""
        return [schedule for schedule in self.schedules.values() if schedule.active]

    @property
    def open_runs(self) -> list[tuple[Schedule | None, ScheduledRun]]:
        """Runs that were decided or asked for and not carried out, with their schedules, oldest first."""
        return [
            (self.schedules.get(name), run) for name, known in self._histories.items() for run in [*known.open.values()]
        ]

    def problems(self) -> list[Problem]:
        """Damaged lines."""
        return [problem for damage in self._damage for problem in damage.problems()]


def shorten(layout: Layout) -> int:
    """Drop the oldest runs of each schedule from a journal that has grown long; return how many.

    The newest of each schedule stay, and with them how far it is settled, and every run that is open.
    """
    try:
        if layout.schedule_runs.stat().st_size <= _LONG:
            return 0
    except OSError:
        return 0
    marks = _to_keep(list(valid_runs(layout).values()))
    before = sum(1 for _ in Journal(layout.schedule_runs).lines())
    Journal(layout.schedule_runs).rewrite(lambda lines: [line for line in lines if _keeps(line, marks)])
    return before - sum(1 for _ in Journal(layout.schedule_runs).lines())


def _to_keep(valid: list[ScheduledRun]) -> set[tuple[str, str, str]]:
    counts: dict[str, int] = {}
    marks = set()
    for run in reversed(valid):
        counts[run.schedule] = counts.get(run.schedule, 0) + 1
        if counts[run.schedule] <= _RETAINED or run.state in OPEN:
            marks.add((run.schedule, run.key, run.due if not run.key else ""))
    return marks


def _keeps(line: bytes, marks: set[tuple[str, str, str]]) -> bool:
    try:
        run = _run.decode(line)
    except UNDECODABLE:
        return True
    return not run.schedule or (run.schedule, run.key, run.due if not run.key else "") in marks


def removed(schedule: Schedule, now: float) -> Schedule:
    """Return the record of a schedule that is not there from now on."""
    return msgspec.structs.replace(schedule, status=ScheduleStatus.REMOVED, paused_at=times.iso(now), resumed_at="")
