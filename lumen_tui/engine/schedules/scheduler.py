"""What is due: decided from the journals and the time, recorded before it is carried out, and carried out once.

A decision is one append of all its records. A run that was decided is carried out under a key, so that a kill between
any two writes leaves a run that the next look finds done or does, and never one that is done twice or lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.engine.events import EventLog
from lumen_tui.engine.schedules.carrying import carry_out, is_open
from lumen_tui.model import times
from lumen_tui.model.config import Config
from lumen_tui.model.schedule_runs import RunState, RunVerdict, ScheduledRun, decide, new_run
from lumen_tui.model.schedules import MOST_QUEUED, Schedule, ScheduleError, ScheduleStatus
from lumen_tui.storage import files
from lumen_tui.storage.store import Store
from lumen_tui.store.schedules import configured, schedules, timing

if TYPE_CHECKING:
    from lumen_tui.engine.schedules.triggers import Triggers

_NEVER = float("inf")
_AGAIN = 5.0  # seconds until a run that waits, or could not be carried out, is looked at again
_SET_BACK = 1.0  # seconds by which a time lies ahead of the clock from which that was set back


class Scheduler:
    """Carries schedules out. `due` costs a comparison; `poll` decides where something is due or was changed."""

    def __init__(self, store: Store, log: EventLog, wake: Callable[[int], None] = lambda _: None) -> None:
        """Use the journals of `store`; `wake` gets a descriptor that is readable once watched files changed."""
        self._store, self._log, self._watch_fd = store, log, wake
        self.book = schedules.ScheduleBook(store.layout)
        self._triggers: Triggers | None = None  # while a schedule has one
        self._next = 0.0  # before that time nothing is due
        self._seen = 0.0  # `now` of the last look: earlier than that, the clock was set back
        self._held = False  # nothing may be started now
        self._config: Config | None = None  # whose schedules are in the journal
        self._reported: tuple[str, ...] = ()
        self._unreadable: set[str] = set()

    def close(self) -> None:
        """End what watches files, and close the journals."""
        if self._triggers is not None:
            self._triggers.close()
        self.book.close()

    def due(self, now: float) -> bool:
        """Return whether `poll` may have something to do because of the time."""
        return not self._held and (now >= self._next or now < self._seen - _SET_BACK)

    def poll(self, config: Config, now: float, *, may_start: bool) -> None:
        """Settle what is due, unless nothing may be started now: then it is late, and treated so, once it may."""
        news = self.book.refresh()
        changed = config is not self._config
        released, self._held = self._held and may_start, not may_start
        if self._held or not (news or changed or released or self.due(now) or self._triggered()):
            return
        self._settle_all(config, now)
        if changed and self._take_in(config, now):
            self._settle_all(config, now)
        self._next, self._seen = self._next_time(now), now

    def _triggered(self) -> bool:
        return self._triggers is not None and self._triggers.pending()

    def _settle_all(self, config: Config, now: float) -> None:
        """Decide on everything that is due, then carry out what is decided and not done."""
        verdicts, aside = self._by_triggers(now)
        for schedule in self.book.schedules.values():
            if schedule.when and schedule.status is not ScheduleStatus.OVER:
                by_time = self._by_time(schedule, now)
                by_trigger = verdicts.get(schedule.id, RunVerdict())
                verdicts[schedule.id] = RunVerdict(
                    (*by_time.settled, *by_trigger.settled), (*by_time.chosen, *by_trigger.chosen)
                )
        records = [run for name, verdict in verdicts.items() for run in self._recorded(name, verdict, config, now)]
        self._record([*records, *aside], now)
        self._carry_out_open(now)
        self._end_single_times()

    def _record(self, records: list[ScheduledRun], now: float) -> None:
        if not records:
            return
        schedules.append_runs(self._store.layout, records)
        self.book.refresh()
        for run in records:
            if run.state in (RunState.MISSED, RunState.SKIPPED):
                many = f"{run.count} runs" if run.count > 1 else "a run"
                text = f"schedule {run.name}: {many} {run.state}, due {times.stamp(run.due_at)}: {run.why}"
                self._log.add(f"schedule_{run.state}", text, now)

    def _by_time(self, schedule: Schedule, now: float) -> RunVerdict:
        """Decide on the times at which a schedule was due, of a removed one up to its end."""
        known = self.book.history(schedule)
        if schedule.active and known.settled > now + _SET_BACK:
            reason = "the clock was set back"
            return RunVerdict((new_run(schedule, "", RunState.FROM_HERE, now, now, reason=reason),))
        until = now if schedule.active else min(now, times.epoch(schedule.paused_at, now))
        try:
            due = timing.due(schedule, known.settled, until)
        except ScheduleError as error:
            self._cannot_be_read(schedule, error, now)
            return RunVerdict()
        return decide(schedule, due, known, now) if due.count else RunVerdict()

    def _cannot_be_read(self, schedule: Schedule, error: ScheduleError, now: float) -> None:
        """Report once a rule that nobody could have made by a command; the others go on."""
        if schedule.id not in self._unreadable:
            self._unreadable.add(schedule.id)
            self._log.add("schedule_failed", f"schedule {schedule.name} cannot be read: {error}", now)

    def _recorded(self, name: str, verdict: RunVerdict, config: Config, now: float) -> list[ScheduledRun]:
        """Return the records of a verdict in the order of their times, with what the run before holds back."""
        records, schedule = list(verdict.settled), self.book.schedules[name]
        known = self.book.history(schedule)
        busy = bool(verdict.chosen) and is_open(self._store.layout, known.last)
        waiting = len(known.open)
        for chosen in verdict.chosen:
            run = self._bounded(chosen, config, now)
            if run.state is RunState.BEGUN and schedule.makes == "task" and (busy or waiting):
                queues = schedule.overlap == "queue" and waiting < MOST_QUEUED
                reason = f"{known.last.made} still runs" if busy and known.last else "a run before it waits"
                run = msgspec.structs.replace(run, state=RunState.QUEUED if queues else RunState.SKIPPED, why=reason)
            waiting += run.state is not RunState.SKIPPED
            records.append(run)
        return sorted(records, key=lambda run: run.due)

    def _bounded(self, run: ScheduledRun, config: Config, now: float) -> ScheduledRun:
        """Skip a run of the agent's own schedules beyond the most of a day."""
        most, runs_today = config.scheduling.agent_runs, self.book.days.get(times.iso(now)[:10], 0)
        if not run.own or runs_today < most:
            return run
        reason = f"the agent's own schedules have run {most} times today, the most they may"
        return msgspec.structs.replace(run, state=RunState.SKIPPED, why=reason)

    def _by_triggers(self, now: float) -> tuple[dict[str, RunVerdict], list[ScheduledRun]]:
        """Return what triggers started, by schedule, and the record of how far the signals were looked through."""
        wanted = [schedule for schedule in self.book.active if schedule.on_change or schedule.on_signal]
        if self._triggers is None:
            if not wanted:
                return {}, []
            from lumen_tui.engine.schedules.triggers import Triggers

            self._triggers = Triggers(self._store.layout, self.book, self._watch_fd)
        return self._triggers.poll(wanted, now)

    def _carry_out_open(self, now: float) -> None:
        for schedule, run in self.book.open_runs:
            if run.state is RunState.QUEUED and schedule is not None and self._waits(schedule, run):
                continue
            if run.state is not RunState.BEGUN:
                run = msgspec.structs.replace(run, state=RunState.BEGUN, at=times.iso(now))
                schedules.append_runs(self._store.layout, [run])
            done = carry_out(self._store, schedule, run, now)
            schedules.append_runs(self._store.layout, [done])
            self.book.refresh()
            words = f"made {done.made}" if done.made else done.why or "woke the main agent"
            kind = "schedule_failed" if done.state is RunState.FAILED else "schedule_run"
            self._log.add(kind, f"schedule {run.name}, due {times.stamp(run.due_at)}: {words}", now, run=run.key)

    def _waits(self, schedule: Schedule, run: ScheduledRun) -> bool:
        known = self.book.history(schedule)
        return next(iter(known.open)) != run.key or is_open(self._store.layout, known.last)

    def _end_single_times(self) -> None:
        for schedule in self._readable():
            known = self.book.history(schedule)
            over = schedule.once and not schedule.on_change and not schedule.on_signal and not known.open
            if over and timing.next_time(schedule, known.settled) == _NEVER:
                schedules.put(self._store.layout, msgspec.structs.replace(schedule, status=ScheduleStatus.OVER))
                self.book.refresh()

    def _take_in(self, config: Config, now: float) -> bool:
        """Bring the journal to what the settings say; report what is wrong in them. Return whether anything changed."""
        changed, problems = configured.changes(config, self.book.schedules, now)
        if changed:
            at = times.iso(now)
            again = [schedule for schedule in changed if schedule.since == at and schedule.id in self.book.schedules]
            reason = "it got another time"
            marks = [new_run(schedule, "", RunState.FROM_HERE, now, now, reason=reason) for schedule in again]
            schedules.append_runs(self._store.layout, marks)
            schedules.change(self._store.layout, lambda _: changed)
            self.book.refresh()
        words = tuple(f"{problem.where}: {problem.what}" for problem in problems)
        for text in words:
            if text not in self._reported:
                self._log.add("settings", text, now)
        self._reported, self._config = words, config
        return bool(changed)

    def _next_time(self, now: float) -> float:
        if self.book.open_runs:
            return now + _AGAIN
        times_ahead = [
            timing.next_time(schedule, max(now, self.book.history(schedule).settled))
            for schedule in self._readable()
            if schedule.when
        ]
        return min(times_ahead, default=_NEVER)

    def _readable(self) -> list[Schedule]:
        return [schedule for schedule in self.book.active if schedule.id not in self._unreadable]

    def rest(self) -> None:
        """Shorten the journal of runs where it has grown long; for once in a beat."""
        try:
            schedules.shorten(self._store.layout)
        except (files.StoreError, OSError):
            return  # it is as it was
