"""Watched files: one thread waits for changes below the folders of schedules, and reports those that settled."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lumen_tui.model.schedules import Schedule, concerns

_MOST_LOOKED_AT = 200_000  # files that the first look at a folder takes in
_STEP = 500  # milliseconds in which changes are gathered
_END = 2.0  # seconds for the thread to end
_PASSED_OVER = frozenset([".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".ruff_cache"])
Change = tuple[str, float, str]  # the schedule, when (0: just now, else seconds since 1970), the first of its files


class FileWatch:
    """Reports one change for all that changed before a quiet while, for each schedule whose patterns they meet."""

    def __init__(self, root: Path, watch_fd: Callable[[int], None]) -> None:
        """Nothing below the state folder `root` is a change; `watch_fd` gets what is readable once there is one."""
        self._root = os.path.realpath(root)
        self._watch_fd = watch_fd
        self._found: deque[Change] = deque()
        self._watched: tuple[tuple[object, ...], ...] = ()
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None
        self._pipe: tuple[int, int] | None = None

    def pending(self) -> bool:
        """Return whether there is a change that nobody has taken."""
        return bool(self._found)

    def changes(self) -> list[Change]:
        """Return what changed since the last call."""
        if self._pipe is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(self._pipe[0], 4096)
        taken = []
        while self._found:
            taken.append(self._found.popleft())
        return taken

    def watch(self, wanted: Sequence[Schedule], settled: Mapping[str, float]) -> None:
        """Watch for these schedules and no others; what changed after `settled`, while nobody watched, counts."""
        watched = tuple((schedule.id, schedule.folder, schedule.on_change, schedule.settle) for schedule in wanted)
        if watched == self._watched:
            return
        self._end_thread()
        self._watched = watched
        if not wanted:
            return
        if self._pipe is None:
            self._pipe = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            self._watch_fd(self._pipe[0])
        self._stop = threading.Event()
        arguments = (tuple(wanted), dict(settled), self._stop)
        self._thread = threading.Thread(target=self._run, args=arguments, name="watched files", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and close what it wakes the engine with."""
        self._end_thread()
        if self._pipe is not None:
            for fd in self._pipe:
                os.close(fd)
            self._pipe = None

    def _end_thread(self) -> None:
        if self._stop is not None and self._thread is not None:
            self._stop.set()
            self._thread.join(_END)
        self._stop = self._thread = None

    def _run(self, wanted: Sequence[Schedule], settled: Mapping[str, float], stop: threading.Event) -> None:
        """Report what changed before, then what changes, until `stop`."""
        import time

        from watchfiles import watch

        pending: dict[str, tuple[float, float, str]] = {}  # schedule -> when it is settled (monotonic), changed, path
        folders = sorted({schedule.folder for schedule in wanted if os.path.isdir(schedule.folder)})
        for schedule in wanted:
            if (newest := self._newest(schedule, stop)) and newest[0] > settled[schedule.id]:
                pending[schedule.id] = (time.monotonic() + schedule.settle, *newest)
        changes = watch(
            *folders, watch_filter=None, stop_event=stop, debounce=_STEP, step=_STEP, rust_timeout=_STEP,
            yield_on_timeout=True, raise_interrupt=False, ignore_permission_denied=True,
        )  # fmt: skip
        for changed in changes if folders else ():
            for schedule in wanted:
                if path := self._first(schedule, [path for _, path in changed]):
                    pending[schedule.id] = (time.monotonic() + schedule.settle, 0.0, path)
            for name in [name for name, (quiet, _, _) in pending.items() if quiet <= time.monotonic()]:
                _, at, path = pending.pop(name)
                self._report(name, at, path)

    def _report(self, name: str, at: float, path: str) -> None:
        self._found.append((name, at, path))
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                os.write(self._pipe[1], b".")

    def _first(self, schedule: Schedule, paths: Sequence[str]) -> str:
        """Return the first of the paths, from the schedule's folder, that concerns it; empty where none does."""
        for path in sorted(paths):
            below = os.path.relpath(path, schedule.folder)
            if not below.startswith("..") and self._counts(path, below) and concerns(schedule, below):
                return below
        return ""

    def _counts(self, path: str, below: str) -> bool:
        return not path.startswith(f"{self._root}/") and not _PASSED_OVER.intersection(below.split("/"))

    def _newest(self, schedule: Schedule, stop: threading.Event) -> tuple[float, str] | None:
        """Return when the newest of the schedule's files was changed, and which; None where there is none."""
        newest: tuple[float, str] | None = None
        looked = 0
        for folder, names, files in os.walk(schedule.folder):
            names[:] = [name for name in names if name not in _PASSED_OVER and f"{folder}/{name}" != self._root]
            for name in files:
                looked += 1
                below = os.path.relpath(f"{folder}/{name}", schedule.folder)
                if not concerns(schedule, below):
                    continue
                with contextlib.suppress(OSError):
                    changed = os.stat(f"{folder}/{name}", follow_symlinks=False).st_ctime
                    newest = max(newest or (0.0, ""), (changed, below))
            if looked > _MOST_LOOKED_AT or stop.is_set():
                break
        return newest
