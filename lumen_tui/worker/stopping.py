"""Whether a task must end, and how what runs meanwhile is interrupted."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from lumen_tui.model.tasks import StopRequest
from lumen_tui.model.text import one_line
from lumen_tui.model.times import span
from lumen_tui.storage import files
from lumen_tui.storage.clock import SystemClock
from lumen_tui.store.tasks import leases, pauses
from lumen_tui.store.tasks.task_records import STOP_FILE, read_stop
from lumen_tui.tools.base import Stopped

TICK = 0.1  # seconds between two looks
_CLOCK = SystemClock()
_AGAIN = 5.0  # seconds after which a Stopped that somebody swallowed is raised once more


class Stopper:
    """Knows whether the task must end, and interrupts what runs: a walk, a regular expression, a model call.

    The interval timer's handler runs in the main thread, also inside a blocking call and inside the regular
    expression engine; it raises Stopped there unless `guard` says that something must not be torn apart.
    """

    def __init__(
        self,
        folder: Path,
        monotonic: Callable[[], float],
        now: Callable[[], float] = time.time,
        running: Callable[[], float] = _CLOCK.running,
    ) -> None:
        self.status = ""
        self.reason = ""
        self._file = folder / STOP_FILE
        self._folder = folder
        self._after_step: StopRequest | None = None
        self._resting = False
        self._monotonic = monotonic
        self._now = now
        self._running = running
        self._ends = 0.0
        self._limit = 0.0
        self._guards = 0
        self._armed = False
        self._raise_at = 0.0

    def ask(self, status: str, reason: str) -> None:
        """Note the first reason to stop; later ones do not change it."""
        if not self.status:
            self.status = status if status in ("cancelled", "failed") else "cancelled"
            self.reason = one_line(reason) or "stopped"

    def limit(self, seconds: float) -> None:
        """Stop as failed `seconds` from now."""
        self._limit, self._ends = seconds, self._monotonic() + seconds

    def extend(self, seconds: float, limit: float) -> None:
        """Move the end of the time limit by so much; it is `limit` seconds altogether."""
        self._limit = limit
        self._ends = self._ends and self._ends + seconds

    def remaining(self) -> float:
        """Return how many seconds of the time limit are left."""
        return self._ends - self._monotonic()

    @property
    def after_step(self) -> bool:
        """Whether it was asked to end after a step."""
        return self._after_step is not None

    def pass_step(self) -> None:
        """Rest, or raise Stopped, where that was asked for between two steps."""
        with self.guard(step=True):
            pass

    @property
    def ends(self) -> float:
        """When the time limit ends, by running time; 0 without one, and while time does not count."""
        return self._ends

    @contextmanager
    def untimed(self) -> Iterator[None]:
        """Keep the time inside from counting against the limit."""
        began, ends = self._monotonic(), self._ends
        self._ends = 0.0
        try:
            yield
        finally:
            self._ends = ends and ends + self._monotonic() - began

    def stopped(self) -> bool:
        """Return whether the task must end."""
        return bool(self.status)

    def poll(self) -> None:
        """Look for a reason to stop."""
        if self.status:
            return
        if self._after_step is None and self._file.exists():
            self._read()
        elif self._ends and self._monotonic() > self._ends:
            self.ask("failed", f"timed out after {span(self._limit)}")

    def _read(self) -> None:
        try:
            stop = read_stop(self._folder)
        except (files.StoreError, OSError):
            stop = None
        stop = stop or StopRequest(reason=f"{STOP_FILE} is there but cannot be read")
        if stop.after == "step":
            self._after_step = stop
            return
        self.ask(stop.status, stop.reason)

    @contextmanager
    def guard(self, *, step: bool = False) -> Iterator[None]:
        """Interrupt nothing inside. `step` says that one tool call has ended and another begins inside."""
        if step and self._armed and not self._guards:
            self._between_steps()
        self._guards += 1
        try:
            yield
        finally:
            self._guards -= 1

    def _between_steps(self) -> None:
        """Rest where that is asked for or the lease is over; raise Stopped where the task is to end after a step."""
        if _must_rest(self._folder, self._now(), self._running()):
            self._rest()
        self.poll()
        if self._after_step is not None:
            self.ask(self._after_step.status, self._after_step.reason)
        if self.status:
            raise Stopped

    def _rest(self) -> None:
        """Do nothing until nothing demands it any more, or there is a reason to stop. Time does not count."""
        self._resting = True
        try:
            with self.untimed():
                while _must_rest(self._folder, self._now(), self._running()) and not self.status:
                    time.sleep(TICK)
                    self.poll()
        finally:
            self._resting = False

    def arm(self) -> None:
        """Install the signal handlers and start polling."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        signal.signal(signal.SIGALRM, self._on_tick)
        signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
        self._armed = True
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))

    def disarm(self) -> None:
        """Interrupt nothing from here on: the end is being written."""
        self._armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.poll()  # an engine that sends TERM has usually said why
        self.ask("cancelled", f"ended by {signal.Signals(number).name}")

    def _on_tick(self, number: int, frame: FrameType | None) -> None:
        if self._resting:
            return
        self.poll()
        if self._armed and not self._guards and (hold := pauses.held(self._folder)) and hold.after == "now":
            self._rest()
        now = self._monotonic()
        if self.status and self._armed and not self._guards and now >= self._raise_at:
            self._raise_at = now + _AGAIN
            raise Stopped


def _must_rest(folder: Path, now: float, running: float) -> bool:
    """Return whether a person holds the task, or the lease of its host is over."""
    hold = pauses.held(folder)
    return (hold is not None and not hold.over(now)) or leases.is_over(folder, running)
