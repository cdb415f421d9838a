"""Takes in what tasks changed in folders of their own, in a thread: the beat does not wait for a large worktree."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from lumen_tui.engine.events import EventLog
from lumen_tui.model import times
from lumen_tui.storage import files, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import change_records
from lumen_tui.tools.isolation import living, shadows

_AGAIN = 30.0  # seconds after a failure: a disk that is full stays so for a while


class Settler:
    """Settles one task after another. `fileno` is readable when one is done."""

    def __init__(self, layout: Layout, log: EventLog) -> None:
        self._layout = layout
        self._log = log
        self._fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._busy = threading.Lock()
        self._failed: dict[str, tuple[float, str]] = {}  # task -> when it is tried again, and why it failed
        self._done: dict[str, str] = {}  # task -> why it failed, or empty; not looked at yet
        self._running: set[str] = set()

    def fileno(self) -> int:
        """Return the descriptor that wakes the engine."""
        return self._fd

    def sweep(self) -> None:
        """After a start, remove what kills left behind, in the background."""
        if any(folder.is_dir() and any(folder.iterdir()) for folder in (self._layout.trees, self._layout.replays)):
            threading.Thread(target=self._sweep, daemon=True).start()

    def _sweep(self) -> None:
        with self._busy:
            try:
                living.sweep(self._layout)
                shadows.sweep(self._layout)
            except OSError as error:
                self._done[""] = str(error)

    def settled(self, task_id: str, folder: Path, now: float) -> bool:
        """Return whether a task that ended is settled; otherwise that is begun, unless it failed a moment ago."""
        self._take_done(now)
        if task_id in self._running:
            return False
        if living.is_settled(folder):
            self._failed.pop(task_id, None)
            return True
        if now >= self._failed.get(task_id, (0.0, ""))[0]:
            self._running.add(task_id)
            threading.Thread(target=self._settle, args=(task_id, folder, times.iso(now)), daemon=True).start()
        return False

    def _settle(self, task_id: str, folder: Path, at: str) -> None:
        try:
            with self._busy:
                self._done[task_id] = self._try(folder, at)
        finally:
            self._running.discard(task_id)
            with contextlib.suppress(OSError):  # the engine has ended meanwhile
                os.eventfd_write(self._fd, 1)

    def _try(self, folder: Path, at: str) -> str:
        """Settle; return why that failed, or empty. The worker's lock is held, so that no attempt begins meanwhile."""
        lock = locks.try_lock(folder / "run.lock")
        if lock is None:
            return "its worker is still on its way out"
        try:
            living.settle(self._layout, folder, at)
        except (OSError, files.StoreError) as error:
            return str(error)
        finally:
            os.close(lock)
        return ""

    def _take_done(self, now: float) -> None:
        """Report what came to an end since the last look."""
        try:
            os.eventfd_read(self._fd)
        except BlockingIOError:
            pass
        for task_id, failure in list(self._done.items()):
            del self._done[task_id]
            if not task_id:
                self._log.add("not_swept", f"folders of tasks were not tidied up: {failure}", now)
            elif failure:
                self._report(task_id, failure, now)
            else:
                self._tell(task_id, now)

    def _report(self, task_id: str, failure: str, now: float) -> None:
        if self._failed.get(task_id, (0.0, ""))[1] != failure:
            text = f"what it changed is still in its folder and could not be taken in: {failure}; it is tried again"
            self._log.add("not_settled", text, now, task_id=task_id)
        self._failed[task_id] = (now + _AGAIN, failure)

    def _tell(self, task_id: str, now: float) -> None:
        changes = change_records.read_list(self._layout.task(task_id))
        if changes is not None and changes.files:
            count = len(changes.files)
            text = f"it changed {count:,} file{'' if count == 1 else 's'}: lumen-tui changes show {task_id}"
            self._log.add("changes", text, now, task_id=task_id, files=count)

    def close(self) -> None:
        """Let the descriptor go; a thread that still works ends with the process."""
        if self._busy.acquire(blocking=False):
            os.close(self._fd)
