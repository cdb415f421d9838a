"""Events about missed, skipped and failed beats: one each time the reason changes."""

from __future__ import annotations

import contextlib

from lumen_tui.engine.events import EventLog
from lumen_tui.storage.files import StoreError

NO_ENGINE = "no engine ran"
STOOD_STILL = "the engine stood still"
SLEPT = "the machine slept"
IDLE = "nothing new"  # a beat that finds nothing to do has done its work


class BeatLog:
    """Records missed, skipped and failed beats. What was missed is counted and never made up for."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._skipped = self._failed = ""  # the reasons that were recorded last
        self._unwritten = ""  # a failure that the disk would not take

    def missed(self, late: float, every: float, reason: str, now: float) -> None:
        """Record beats missed because this one comes `late` seconds; none below one interval of `every` seconds."""
        count = int(late // max(1.0, every))
        if count > 0:
            beats = "1 beat" if count == 1 else f"{count} beats"
            self._log.add("beats_missed", f"{beats} missed while {reason}", now, missed=count, reason=reason)

    def ran(self, loop: int, skipped: str, now: float) -> None:
        """Record a beat that was carried out: with loop number `loop`, or without one and why (`skipped`)."""
        self._failed = ""
        if self._unwritten:
            self._log.add("beat_failed", self._unwritten, now)
            self._unwritten = ""
        if loop:
            self._skipped = ""
        elif skipped not in ("", IDLE, self._skipped):
            self._skipped = skipped
            self._log.add("beat_skipped", f"no loop: {skipped}", now)

    def failed(self, reason: str, now: float) -> None:
        """Record a beat that was cut off; if even that cannot be written, the next beat that can writes it."""
        if reason == self._failed:
            return
        self._failed = self._unwritten = reason
        with contextlib.suppress(StoreError, OSError):
            self._log.add("beat_failed", reason, now)
            self._unwritten = ""
