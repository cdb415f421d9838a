"""The state at one moment, while engine, workers and operators go on.

Every verb writes what it does to a journal, before and after it changes other files. So while all shared journals are
locked no verb begins or ends: their sizes, and the small files that are read meanwhile, belong together. What was
appended later is cut off by the sizes. Locks are tried, never waited for while another is held, so that nobody who
takes two of them in another order can be in the way for good.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct, field

from lumen_tui.storage import files, locks
from lumen_tui.storage.layout import Layout

# Derived, of processes that run now, or made again when they are needed.
LEFT_OUT = ("backups", "index", "trees", "replays", "sessions/rooms", "heartbeat.json")
# Files that do not change once they are there, and those of tasks, which belong to one worker each.
AFTERWARDS = (
    *("tasks", "transcripts", "memory/cleanups", "blocks/texts", "accepted/definitions"),
    *("evolved/versions", "evolved/versions.git"),
)
_SMALL = 1024 * 1024  # bytes: what is larger is no record that is replaced
_PATIENCE, _PAUSE = 30.0, 0.01  # seconds


class FrozenState(Struct):
    """Descriptors of journals with their sizes, small files with their bytes, and which live tasks there were."""

    journals: dict[str, tuple[int, int]] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    executable: set[str] = field(default_factory=set)
    afterwards: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    seconds: float = 0.0  # for which it was held


@contextmanager
def frozen(layout: Layout) -> Iterator[FrozenState]:
    """Take the state at one moment; within the block its journals are open for reading. StoreError, OSError."""
    state = _taken(str(layout.root))
    try:
        yield state
    finally:
        _close(state)


def _taken(root: str) -> FrozenState:
    deadline = time.monotonic() + _PATIENCE
    while True:
        journals = [path for path in below(root) if path.endswith(".jsonl")]
        held = _try_all(root, journals)
        if held is not None:
            try:
                began = time.perf_counter()
                state = _look(root, set(journals))
                if state is not None:
                    state.seconds = time.perf_counter() - began
                    return state
            finally:
                for fd in held:
                    os.close(fd)
        if time.monotonic() > deadline:
            raise files.StoreError(f"journals in {root} are written to without a pause: try again when less runs")
        time.sleep(_PAUSE)


def below(root: str, under: str = "") -> Iterator[str]:
    """Yield the paths of files below a folder of the state, without what is copied afterwards or left out."""
    with os.scandir(os.path.join(root, under)) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        path = f"{under}/{entry.name}" if under else entry.name
        if path in LEFT_OUT or path in AFTERWARDS or _is_temporary(entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from below(root, path)
        else:
            yield path


def _is_temporary(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")


def _try_all(root: str, journals: list[str]) -> list[int] | None:
    """Return the held locks of all journals, or None, with none held, where one is taken or was replaced."""
    held: list[int] = []
    for path in journals:
        fd = _try_one(os.path.join(root, path))
        if fd is None:
            for other in held:
                os.close(other)
            return None
        held.append(fd)
    return held


def _try_one(path: str) -> int | None:
    if not os.path.isfile(path) or (fd := locks.try_lock(path)) is None:
        return None
    if os.path.exists(path) and os.stat(path).st_ino == os.fstat(fd).st_ino:
        return fd
    os.close(fd)
    return None


def _look(root: str, journals: set[str]) -> FrozenState | None:
    """Return the state, or None where there is a journal that is not locked."""
    state = FrozenState()
    for path in below(root):
        if path.endswith(".jsonl") and path not in journals:
            _close(state)
            return None
        try:
            _take(state, root, path)
        except FileNotFoundError:
            continue  # a file that was replaced by nothing: a pause that ended, say
        except (files.StoreError, OSError):
            state.skipped.append(path)
    with os.scandir(os.path.join(root, "tasks")) as entries:
        state.tasks = sorted(entry.name for entry in entries if entry.is_dir() and entry.name != "archive")
    return state


def _close(state: FrozenState) -> None:
    for fd, _ in state.journals.values():
        os.close(fd)


def _take(state: FrozenState, root: str, path: str) -> None:
    fd = files.open_plain(os.path.join(root, path))
    status = os.fstat(fd)
    if path.endswith(".jsonl"):
        state.journals[path] = (fd, status.st_size)
        return
    try:
        if status.st_size > _SMALL:
            state.afterwards.append(path)
            return
        state.contents[path] = os.pread(fd, _SMALL + 1, 0)
        if status.st_mode & 0o100:
            state.executable.add(path)
    finally:
        os.close(fd)
