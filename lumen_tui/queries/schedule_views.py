"""Schedules as people see them: with their next time, their last run, and what is wrong with those of the settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lumen_tui.model import ids, times
from lumen_tui.model.decoding import safe_record
from lumen_tui.model.problem import Problem
from lumen_tui.model.schedule_runs import ScheduledRun, ScheduleView, Upcoming
from lumen_tui.model.schedules import Schedule, ScheduleError, ScheduleStatus, signal_match
from lumen_tui.storage.layout import Layout
from lumen_tui.store.schedules import schedules
from lumen_tui.store.schedules.schedules import ScheduleBook

if TYPE_CHECKING:
    from lumen_tui.model.config import Config
    from lumen_tui.model.requests.schedules import AddSchedule

_NAMED = 8  # runs to come that a snapshot names
_RECENT = 50  # runs of one schedule that a page shows


class ScheduleIndex:
    """Follows the schedules for a room. What is to come is worked out when something changed, or a time passed."""

    def __init__(self, layout: Layout) -> None:
        self._book = ScheduleBook(layout)
        self._ahead: tuple[Upcoming, ...] = ()
        self._worked_out = -1
        self._config: Config | None = None
        self._wrong: tuple[Problem, ...] = ()

    def close(self) -> None:
        """Close the journals."""
        self._book.close()

    def refresh(self) -> bool:
        """Read what is new; return whether there was anything."""
        return self._book.refresh()

    @property
    def revision(self) -> int:
        """A number that grows with each change."""
        return self._book.revision

    def upcoming(self, now: float) -> tuple[Upcoming, ...]:
        """Return the next runs, the soonest first."""
        if self._worked_out != self.revision or (self._ahead and self._ahead[0].at <= now):
            self._worked_out = self.revision
            ahead = [Upcoming(schedule.name, next_run(schedule, now)) for schedule in self._book.active]
            self._ahead = tuple(
                sorted((upcoming for upcoming in ahead if upcoming.at), key=lambda upcoming: upcoming.at)[:_NAMED]
            )
        return self._ahead

    def problems(self, config: Config, now: float) -> list[Problem]:
        """Return damaged lines, and what is wrong with the schedules of the settings."""
        if config is not self._config:
            self._config = config
            self._wrong = ()
            if config.schedules:
                from lumen_tui.store.schedules.configured import configured

                self._wrong = tuple(configured(config, self._book.schedules, now)[1])
        return [*self._book.problems(), *self._wrong, *self._failed()]

    def _failed(self) -> list[Problem]:
        """Return a problem for each schedule in force whose last run failed."""
        histories = [
            (schedule, self._book.history(schedule).failed) for schedule in self._book.active if not schedule.paused
        ]
        return [
            Problem(
                f"schedule {schedule.name}",
                f"its run due {times.stamp(run.due_at)} failed: {run.why}",
                f"`schedule run {schedule.name}` tries again once that is fixed, "
                f"`schedule pause {schedule.name}` lets it rest",
            )
            for schedule, run in histories
            if run is not None
        ]


def next_run(schedule: Schedule, now: float) -> float:
    """Return when a schedule runs next by time; 0 where it does not, or is paused."""
    if not schedule.when or schedule.paused or not schedule.active:
        return 0.0
    from lumen_tui.store.schedules import timing  # with cronsim, which a folder without schedules does not need

    try:
        at = timing.next_time(schedule, now)
    except ScheduleError:
        return 0.0  # of a journal that was written by hand
    return at if at < float("inf") else 0.0


def views(layout: Layout, now: float, *, all: bool = False) -> list[ScheduleView]:
    """Return the schedules, the next to run first; with `all` also those that are over or removed. Texts are safe."""
    runs: defaultdict[str, list[ScheduledRun]] = defaultdict(list)
    for run in schedules.valid_runs(layout).values():
        runs[run.schedule].append(safe_record(run))
    known = [safe_record(schedule) for schedule in schedules.read(layout).values()]
    shown = [
        _view(schedule, runs[schedule.id], now)
        for schedule in known
        if schedule.active or (all and schedule.status in _PAST)
    ]
    return sorted(shown, key=lambda view: (not view.schedule.active, not view.next, view.next, view.schedule.name))


_PAST = (ScheduleStatus.OVER, ScheduleStatus.REMOVED)


def _view(schedule: Schedule, runs: Sequence[ScheduledRun], now: float) -> ScheduleView:
    done = [run for run in runs if run.state == "run"]
    waiting = sum(run.state in ("asked", "begun", "queued") for run in runs)
    recent = tuple(reversed(runs[-_RECENT:]))
    return ScheduleView(schedule, next_run(schedule, now), waiting, done[-1] if done else None, recent)


def view_reader(layout: Layout, clock: Callable[[], float]) -> Callable[[], Sequence[ScheduleView]]:
    """Return a function that reads all schedules in force, for a screen."""
    return lambda: views(layout, clock())


def first_time(request: AddSchedule, now: float) -> tuple[float, str]:
    """Return when what is asked for runs first, 0 where it has no time, and why its time or triggers will not do."""
    from lumen_tui.store.schedules import checking, timing

    try:
        zone = request.zone or timing.local_zone()
        asked = Schedule(
            id="",
            name="",
            when=timing.canonical(request.when, zone, now) if request.when else "",
            zone=zone,
            on_change=tuple(request.on_change),
            folder=checking.watched_folder(request.folder) if request.on_change else "",
            on_signal=signal_match(request.on_signal),
            since=times.iso(now),
        )
        checking.check_triggers(asked)
    except ScheduleError as error:
        return 0.0, str(error)
    return (timing.next_time(asked, now) if asked.when else 0.0), ""


def history(layout: Layout, schedule_id: str, limit: int) -> list[ScheduledRun]:
    """Return the newest runs, the last one first, of one schedule or of all."""
    runs = [run for run in schedules.valid_runs(layout).values() if schedule_id in ("", run.schedule)]
    return [safe_record(run) for run in reversed(runs[-limit:])]


def made_words(run: ScheduledRun) -> str:
    """Return what came of a run, on one line."""
    if run.made:
        return f"made {ids.short(run.made)}"
    many = f"{run.count} runs: " if run.count > 1 else ""
    woke = "woke the main agent" if run.makes == "wake" and run.state == "run" else ""
    return f"{many}{run.why}" or woke
