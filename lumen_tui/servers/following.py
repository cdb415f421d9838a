"""A desk whose snapshot a thread keeps up to date, so that a read of many clients never waits for the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import Done
from lumen_tui.model.access import Principal
from lumen_tui.model.requests.base import Request
from lumen_tui.servers.desk import Desk

if TYPE_CHECKING:
    from lumen_tui.model.snapshot import Snapshot

_PATIENCE = 3.0  # seconds for the thread to end


class FollowingDesk(Desk):
    """Answers from the newest snapshot. What was done through it is in the next read."""

    _newest: Snapshot | None = None
    _thread: threading.Thread | None = None

    def follow(self, on_change: Callable[[], None] = lambda: None) -> None:
        """Take the first snapshot, which reads all journals, then follow; `on_change` is called in the thread."""
        self._stop, self._turn = threading.Event(), threading.Lock()
        self._renew()
        self._thread = threading.Thread(target=self._watch, args=(on_change,), name="snapshots", daemon=True)
        self._thread.start()

    def _watch(self, on_change: Callable[[], None]) -> None:
        for _ in self.changes(self._stop):
            self._renew()
            on_change()

    def _renew(self) -> None:
        with self._turn:  # else an older snapshot could take the place of a newer one
            self._newest = super().snapshot()

    def snapshot(self) -> Snapshot:
        return self._newest if self._newest is not None else super().snapshot()

    def perform(self, who: Principal, request: Request) -> Done:
        done = super().perform(who, request)
        if self._newest is not None:
            self._renew()
        return done

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join(_PATIENCE)
