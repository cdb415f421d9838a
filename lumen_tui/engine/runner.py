"""The timer around the engine: beats when one is due, polls when something happened, ends cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field

from lumen_tui.engine.beats import BeatReport
from lumen_tui.engine.engine import Engine, StateGone
from lumen_tui.engine.events import SLEPT, STOOD_STILL
from lumen_tui.engine.service_manager import ServiceManager
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, integrity

_TICK = 1.0  # seconds between two looks at the clocks
_POLL = 0.25  # the same where the system does not report new files
_WARM_AFTER = 0.5  # seconds that an engine sleeps before it has a zygote made: one task alone needs none
_DONE = "done"  # why it ended, where it made the beats that were asked for
_WATCH = 2.0  # seconds between two looks at running workers (time limits, lost ones)

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

BeatListener = Callable[[BeatReport], None]


@dataclass
class RunOptions:
    """How long to run."""

    beats: int = 0  # stop after this many; 0: until asked to stop
    until_idle: bool = False  # stop once nothing runs, waits or is new
    listeners: list[BeatListener] = field(default_factory=list)
    signals: bool = True  # whether SIGTERM, SIGINT and SIGHUP end it; else the caller hears them
    manager: ServiceManager = field(default_factory=ServiceManager)  # who is told how it is


class Runner:
    """Runs one opened engine until it is asked to stop."""

    def __init__(self, engine: Engine, options: RunOptions) -> None:
        self.engine = engine
        self.options = options
        self._supervisor = engine.supervisor
        self._dispatcher = engine.supervisor.dispatcher
        self._wakeups = self._dispatcher.wakeups
        self._clock = engine.clock
        self._layout = engine.store.layout
        self.stop_reason = ""
        self._done_beats = 0
        self._folder_stamp = 0
        self._soon = False  # something came in that the main agent should hear of
        self._woken = asyncio.Event()

    def request_stop(self, reason: str) -> None:
        """Ask for a clean end; safe in a signal handler of the loop."""
        self.stop_reason = self.stop_reason or reason
        self._woken.set()

    async def run(self) -> int:
        """Beat until the end; returns the exit code: 128 + n after a signal, 1 where the folder or the program is not
        the one any more that this began with, or where the beats asked for were cut off.
        """
        codes = self._handle_signals() if self.options.signals else {}
        try:
            await self._beats()
            await self._supervisor.wait_for_endings()
            await self.engine.learning.wait()
        except StateGone as error:
            self.stop_reason = str(error)
            return 1
        except (ImportError, OSError):  # what was to be loaded now is gone with the old program
            if not self._superseded():
                raise
        finally:
            self.engine.close(self.stop_reason or _DONE)
        failed = self.stop_reason == integrity.PROGRAM_REPLACED or (self.stop_reason == _DONE and self.engine.trouble)
        return 1 if failed else codes.get(self.stop_reason, 0)

    def _superseded(self) -> bool:
        """Ask for the end where the program was replaced: tasks wait for the next engine, which is of one piece."""
        if reason := integrity.program_replaced():
            self.request_stop(reason)
        return bool(reason)

    def _handle_signals(self) -> dict[str, int]:
        """Let each ending signal stop this; returns their exit codes by name."""
        loop = asyncio.get_running_loop()
        for number in ENDING:
            loop.add_signal_handler(number, self.request_stop, number.name)
        return {number.name: 128 + number for number in ENDING}

    async def _beats(self) -> None:
        manager, reason = self.options.manager, "start"
        while not (self._superseded() or self.stop_reason):
            report = self._beat(reason)
            manager.ready() if reason == "start" else None
            if self._finished(report):
                break
            reason = await self._wait()
        manager.stopping(self.stop_reason)

    def _finished(self, report: BeatReport) -> bool:
        self._done_beats += 1
        if self.options.beats and self._done_beats >= self.options.beats:
            self.stop_reason = self.stop_reason or _DONE
        gathers = self.engine.loop.gathers_until
        if self.options.until_idle and report.idle and not gathers and not self._busy():
            self.stop_reason = self.stop_reason or "idle"
        return bool(self.stop_reason)

    def _busy(self) -> bool:
        return any(not view.finished for view in self._supervisor.index.live())

    def _beat(self, reason: str) -> BeatReport:
        """Make one beat. A disk or system error leaves the engine degraded, not dead: the next beat tries
        again.
        """
        now = self._clock.now()
        try:
            report = self.engine.beat(now, reason)
            self.engine.trouble = one_line(integrity.unreachable_records(self._layout))
        except (files.StoreError, OSError) as error:
            self.engine.trouble = one_line(str(error))
            self.engine.beat_log.failed(self.engine.trouble, now)
            report = BeatReport(beat=self.engine.beats, reason=reason, skipped=f"degraded: {error}")
        self._stop_if_asked(report.requests.stop)
        for listener in self.options.listeners:
            listener(report)
        return report

    def _stop_if_asked(self, stop: str) -> None:
        if stop:
            self.request_stop(stop)

    async def _wait(self) -> str:
        """Sleep until the next beat is due, a command asks for one, or news has settled; returns the reason.

        Running time decides, so that a wall clock that is moved brings no beat forward and puts none off.
        """
        clock = self._clock
        due = self._plan(soon=self.options.until_idle)
        slept = watched = clock.running()
        asleep = slept - clock.awake()
        while not self.stop_reason:
            await self._wait_for_wakeup(min(self._longest(), max(0.0, due - clock.running())))
            running = clock.running()
            self.options.manager.alive(running)
            if running >= due:
                self._note_late(running - due, running - clock.awake() - asleep)
                return "timer"
            self._check_clocks(due, running - slept)
            if not (self._something_happened() or running - watched > _WATCH):
                continue
            watched = running
            if self._poll():
                return "asked"
            if self._soon:
                self._soon = False
                due = self._plan(soon=True, before=due)
        return "stop"

    def _note_late(self, late: float, asleep: float) -> None:
        """Record beats that were missed, by reason: the machine slept (`asleep` seconds), or the engine stood still."""
        reason = SLEPT if asleep > late / 2 else STOOD_STILL
        config, now = self.engine.config, self._clock.now()
        with contextlib.suppress(files.StoreError, OSError):  # a full disk: the late beat says so itself
            self.engine.beat_log.missed(late, config.heartbeat.every_minutes * 60, reason, now)

    def _longest(self) -> float:
        """Return how many seconds to sleep at most."""
        if self._supervisor.index.loading:
            return 0.0
        return _POLL if self._wakeups.deaf else _TICK

    def _check_clocks(self, due: float, slept: float) -> None:
        """Announce the next beat again after the wall clock was moved; start a zygote in quiet times."""
        clock = self._clock
        if self.engine.notice_jump(clock.now()):
            self._announce(clock.now() + due - clock.running())
        if slept > _WARM_AFTER:
            self._dispatcher.warm_up(self.engine.config)

    def _plan(self, *, soon: bool, before: float = float("inf")) -> float:
        """Return when the next beat is due, in running time and at most `before`; announce it in wall time."""
        now, running = self._clock.now(), self._clock.running()
        due = min(before, running + self.engine.next_beat(now, soon=soon) - now)
        self._announce(now + due - running)
        return due

    async def _wait_for_wakeup(self, seconds: float) -> None:
        """Return when something happened that wakes the engine, or after that time."""
        loop = asyncio.get_running_loop()
        self._woken.clear()
        loop.add_reader(self._wakeups.fileno(), self._woken.set)
        try:
            await asyncio.wait_for(self._woken.wait(), seconds)
        except TimeoutError:
            return
        finally:
            loop.remove_reader(self._wakeups.fileno())

    def _announce(self, due: float) -> None:
        try:
            self.engine.sleep(self._clock.now(), due)
        except (files.StoreError, OSError):
            pass  # degraded: the late heartbeat shows it to the operator
        phase, note = self.engine.announced
        self.options.manager.status(f"{phase}: {note}" if note else phase)

    def _something_happened(self) -> bool:
        """Return whether there may be a new command, a new task, an ended worker or something due; reads no file."""
        try:
            stamp = os.stat(self._layout.tasks).st_mtime_ns
        except OSError:
            stamp = 0
        moved = stamp != self._folder_stamp
        self._folder_stamp = stamp
        woken = self._wakeups.happened()
        moved = moved or woken or self._supervisor.index.loading or self.engine.switch.changed()
        now = self._clock.now()
        moved = moved or self.engine.schedules.due(now) or self.engine.approvals.due(now) or self.engine.queue.due(now)
        return moved or self.engine.commands.waiting or self._dispatcher.child_ended()

    def _poll(self) -> bool:
        """See to commands and tasks at once; return whether a whole beat was asked for."""
        if self._superseded():
            return False
        try:
            requests, supervised = self.engine.poll(self._clock.now())
            arrived = self.engine.arrivals.poll(self.engine.config)
        except (files.StoreError, OSError):
            return False
        self._stop_if_asked(requests.stop)
        self._soon = self._soon or arrived or bool(supervised.collected)
        if requests.carried_out or self.engine.idle_phase() != self.engine.announced:
            self._announce(self.engine.next_due)
        return requests.beat
