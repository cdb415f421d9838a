"""The timer around the engine: beats when one is due, looks when something happened, ends cleanly."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field

from lumen_tui.engine.engine import BeatReport, Engine, StateGone
from lumen_tui.store import files

_POLL = 0.25  # seconds between two looks at what may have changed: three `stat` calls
_WATCH = 2.0  # seconds between two looks at running workers (time limits, lost ones)

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

BeatListener = Callable[[BeatReport], None]


@dataclass
class RunOptions:
    """How long to run."""

    beats: int = 0  # stop after this many; 0: until told to stop
    until_idle: bool = False  # stop once nothing runs, waits or is new
    listeners: list[BeatListener] = field(default_factory=list)
    signals: bool = True  # whether SIGTERM, SIGINT and SIGHUP end it; else the caller hears them


class Runner:
    """Runs one opened engine until it is told to stop."""

    def __init__(self, engine: Engine, options: RunOptions) -> None:
        self.engine, self.options = engine, options
        self.stop_reason = ""
        self._done_beats = 0
        self._folder_stamp = 0
        self._soon = False  # something came in that the main agent should hear of

    def request_stop(self, reason: str) -> None:
        """Ask for a clean end; safe in a signal handler of the loop."""
        self.stop_reason = self.stop_reason or reason

    async def run(self) -> int:
        """Beat until the end; returns the exit code (128 + n after a signal, 1 where the folder went away)."""
        codes = self._hear_signals() if self.options.signals else {}
        try:
            await self._beats()
            await self.engine.tending.wait_for_endings()
        except StateGone as error:
            self.stop_reason = str(error)
            return 1
        finally:
            self.engine.close(self.stop_reason or "done")
        return codes.get(self.stop_reason, 0)

    def _hear_signals(self) -> dict[str, int]:
        """Let each ending signal stop this; returns their exit codes by name."""
        loop = asyncio.get_running_loop()
        for number in ENDING:
            loop.add_signal_handler(number, self.request_stop, number.name)
        return {number.name: 128 + number for number in ENDING}

    async def _beats(self) -> None:
        reason = "start"
        while not self.stop_reason:
            report = await self._beat(reason)
            if self._finished(report):
                return
            reason = await self._wait()

    def _finished(self, report: BeatReport) -> bool:
        self._done_beats += 1
        if self.options.beats and self._done_beats >= self.options.beats:
            self.stop_reason = self.stop_reason or "done"
        if self.options.until_idle and report.idle and not self._busy():
            self.stop_reason = self.stop_reason or "idle"
        return bool(self.stop_reason)

    def _busy(self) -> bool:
        return any(not view.finished for view in self.engine.tending.index.live())

    async def _beat(self, reason: str) -> BeatReport:
        """One beat. A disk that does not take it makes the engine degraded, not dead: the next beat tries again."""
        now = self.engine.clock.now()
        try:
            report = await self.engine.beat(now, reason)
        except files.StoreError as error:
            report = BeatReport(beat=self.engine.beats, reason=reason, skipped=f"degraded: {error}")
        self._note(report.wishes.stop)
        for listener in self.options.listeners:
            listener(report)
        return report

    def _note(self, stop: str) -> None:
        if stop:
            self.request_stop(stop)

    async def _wait(self) -> str:
        """Sleep until the next beat is due, a command asks for one, or news has settled; returns the reason."""
        clock = self.engine.clock
        due = self._announce(self.engine.next_beat(clock.now(), soon=self.options.until_idle))
        watched = clock.running()
        while not self.stop_reason:
            await asyncio.sleep(_POLL)
            now = clock.now()
            if now >= due:
                return "timer"
            if not (self._something_happened() or clock.running() - watched > _WATCH):
                continue
            watched = clock.running()
            if self._look():
                return "asked"
            if self._soon:
                self._soon = False
                due = self._announce(min(due, self.engine.next_beat(now, soon=True)))
        return "stop"

    def _announce(self, due: float) -> float:
        try:
            self.engine.sleep(self.engine.clock.now(), due)
        except files.StoreError:
            pass  # degraded: the late heartbeat tells the operator
        return due

    def _something_happened(self) -> bool:
        """A new command, a new task, or a worker that ended: cheap evidence, no read."""
        try:
            stamp = os.stat(self.engine.store.layout.tasks).st_mtime_ns
        except OSError:
            stamp = 0
        moved, self._folder_stamp = stamp != self._folder_stamp, stamp
        return moved or self.engine.orders.waiting or self.engine.tending.starter.child_ended()

    def _look(self) -> bool:
        """Commands and tasks at once; True where a whole beat was asked for."""
        try:
            wishes, tended = self.engine.look()
        except files.StoreError:
            return False
        self._note(wishes.stop)
        self._soon = self._soon or bool(tended.collected)
        if wishes.carried_out:
            self._announce(self.engine.next_due)
        return wishes.beat
