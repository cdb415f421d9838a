"""What starts runs besides the time: signals, followed in their journal, and changed files, watched in a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lumen_tui.engine.schedules.watching import FileWatch
from lumen_tui.model import times
from lumen_tui.model.records import Signal, decode_signal
from lumen_tui.model.schedule_runs import RunState, RunVerdict, ScheduledRun, key_of, new_run
from lumen_tui.model.schedules import MOST_TRIGGERED, SENDER, Schedule, matches
from lumen_tui.storage import journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamp, stamp
from lumen_tui.store.schedules.schedules import ScheduleBook

_FAR = 1024 * 1024  # bytes of signals after which the place is recorded even where none started a run


class Triggers:
    """Follows what schedules with triggers wait for. Its own signals start nothing: no schedule feeds on itself."""

    def __init__(self, layout: Layout, book: ScheduleBook, watch_fd: Callable[[int], None]) -> None:
        self._layout, self._book = layout, book
        self._files = FileWatch(layout.root, watch_fd)
        self._stamp: Stamp = (0, 0, 0)
        self._waits_for_signals = False
        self._cursor: dict[str, object] = {}
        self._recorded = 0  # bytes up to which the place is in the journal of runs

    def close(self) -> None:
        """End the watching thread."""
        self._files.close()

    def pending(self) -> bool:
        """Return whether a file that is watched changed, or a signal came: at most one `stat`."""
        return self._files.pending() or (self._waits_for_signals and stamp(self._layout.signals) != self._stamp)

    def poll(self, wanted: Sequence[Schedule], now: float) -> tuple[dict[str, RunVerdict], list[ScheduledRun]]:
        """Return what was started, by schedule; and how far the signals were looked through, to be recorded last."""
        runs, aside = self._by_signals([schedule for schedule in wanted if schedule.on_signal], now)
        runs += self._by_files([schedule for schedule in wanted if schedule.on_change], now)
        started: dict[str, RunVerdict] = {}
        for schedule in wanted:
            if own := [run for run in runs if run.schedule == schedule.id]:
                started[schedule.id] = self._bounded(schedule, own, now)
        return started, aside

    def _by_signals(self, wanted: Sequence[Schedule], now: float) -> tuple[list[ScheduledRun], list[ScheduledRun]]:
        self._waits_for_signals = bool(wanted)
        self._stamp, before = stamp(self._layout.signals), self._stamp
        if not wanted or self._stamp == before:
            return [], []
        lines, cursor = journal.lines_after(self._layout.signals, self._cursor or self._book.cursor)
        signals = [decode_signal(line) for _, line in lines]
        runs = [run for schedule in wanted for signal in signals if (run := self._on(schedule, signal, now))]
        offset = cursor.get("offset", 0)
        far = isinstance(offset, int) and abs(offset - self._recorded) > _FAR
        self._cursor = cursor
        if not runs and not far:
            return [], []
        self._recorded = offset if isinstance(offset, int) else 0
        at = times.iso(now)
        return runs, [ScheduledRun("", "", RunState.READ, at, at, cause="signal", cursor=cursor)]

    def _on(self, schedule: Schedule, signal: Signal, now: float) -> ScheduledRun | None:
        """Return the run that a signal starts, unless it did so before."""
        key = key_of(schedule, signal.id)
        came = times.epoch(signal.created_at, now)
        if signal.sender.startswith(SENDER) or came < times.epoch(schedule.since) or self._known(schedule, key):
            return None
        if not matches(schedule.on_signal, _fields(signal)):
            return None
        return new_run(schedule, key, RunState.BEGUN, came, now, cause="signal", about=signal.id)

    def _known(self, schedule: Schedule, key: str) -> bool:
        return key in self._book.history(schedule).final

    def _by_files(self, wanted: Sequence[Schedule], now: float) -> list[ScheduledRun]:
        settled = {
            schedule.id: max(self._book.history(schedule).changed, times.epoch(schedule.since)) for schedule in wanted
        }
        self._files.watch(wanted, settled)
        by_id = {schedule.id: schedule for schedule in wanted}
        runs = []
        for name, at, path in self._files.changes():
            if schedule := by_id.get(name):
                at = at or now
                key = key_of(schedule, f"change-{times.iso(at)}")
                if not self._known(schedule, key):
                    runs.append(new_run(schedule, key, RunState.BEGUN, at, now, cause="change", about=path))
        return runs

    def _bounded(self, schedule: Schedule, runs: Sequence[ScheduledRun], now: float) -> RunVerdict:
        """Skip the runs of a paused schedule, and those beyond the most of an hour."""
        reason = schedule.pause_words if schedule.paused else ""
        recent = [at for at in self._book.history(schedule).triggered if 0 <= now - at < times.HOUR]
        room = 0 if reason else max(0, MOST_TRIGGERED - len(recent))
        reason = reason or f"it was started {MOST_TRIGGERED} times within the hour, the most a trigger may"
        over = runs[room:]
        skipped = tuple(
            new_run(
                schedule, run.key, RunState.SKIPPED, run.due_at, now, cause=run.cause, about=run.about, reason=reason
            )
            for run in over
        )
        return RunVerdict(skipped, tuple(runs[:room]))


def _fields(signal: Signal) -> dict[str, str]:
    return {
        "kind": signal.type,
        "from": signal.sender,
        "to": signal.target_agent,
        "text": signal.message,
        "priority": signal.priority,
        "wu": signal.wu_id,
    }
