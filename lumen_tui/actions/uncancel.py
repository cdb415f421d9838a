"""Taking a cancel back: the task waits again, as it did before; an attempt that was cut off is kept beside the next."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from lumen_tui.actions import resting
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import ids
from lumen_tui.model.loop import Command
from lumen_tui.model.records import Change
from lumen_tui.model.tasks import Run, Status
from lumen_tui.storage import directories, locks
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.task_records import has_worker, read_json

KIND = "cancel"
Side = dict[str, Any] | None


class _Stop(Struct):
    """What counts of stop.json here."""

    status: str = ""


def change_of(task_id: str) -> Change:
    """What a cancel changes."""
    return Change(kind=KIND, key=task_id, before={"cancelled": False}, after={"cancelled": True})


def cancelled_now(store: Store, change: Change) -> Side:
    """Whether the task is cancelled, or an engine will do it as soon as one runs."""
    folder = task_files.folder_of(store.layout, change.key)
    if folder is None:
        raise ActionError(f"task {change.key} is no longer there")
    ended = task_files.read_exit(folder)
    archived = folder.parent != store.layout.tasks  # and without an exit: an undo that was cut off
    gone = ended.status == Status.CANCELLED if ended else archived or _is_ending(folder)
    return {"cancelled": gone or (not ended and bool(_unanswered(store, change.key)))}


def _unanswered(store: Store, task_id: str) -> list[Command]:
    return [one for one in resting.unanswered(store, "cancel") if one.target == task_id]


def _is_ending(folder: Path) -> bool:
    """Whether the engine has told the worker to end, as cancelled."""
    stop = read_json(folder / "stop.json", _Stop)
    return stop is not None and stop.status == Status.CANCELLED


def may(store: Store, change: Change) -> None:
    """Refuse where the task cannot wait again, and to cancel one again: that is asked for anew."""
    if (change.after or {}).get("cancelled"):
        raise ActionError(f"a cancel is not repeated by redo: `task cancel {change.key}` asks for it")
    folder = task_files.folder_of(store.layout, change.key)
    if folder is not None and has_worker(folder) and not _unanswered(store, change.key):
        raise _still_ending(change.key)


def _still_ending(task_id: str) -> ActionError:
    return ActionError(f"the worker of {ids.short(task_id)} is still ending: try again in a moment")


def put(store: Store, change: Change) -> None:
    """Make the task wait again."""
    resting.take_back(store, _unanswered(store, change.key))
    folder = task_files.folder_of(store.layout, change.key)
    if folder is None:
        raise ActionError(f"task {change.key} is no longer there")
    if has_worker(folder) and not _is_ending(folder):
        return  # no engine has taken the cancel up: the worker goes on
    lock = locks.try_lock(folder / "run.lock")
    if lock is None:
        raise _still_ending(change.key)
    try:
        _queue_again(store, change.key, folder)
    finally:
        os.close(lock)


def _queue_again(store: Store, task_id: str, folder: Path) -> None:
    """The exit goes before the folder comes back: the engine never sees an ended task there."""
    for name in ("stop.json", "hold.json", "collected.json"):
        directories.remove(folder / name)
    if run := read_json(folder / "run.json", Run):
        directories.move(folder / "run.json", folder / f"run.{run.attempt}.json")
    directories.remove(folder / "exit.json")
    if folder.parent != store.layout.tasks:
        directories.move(folder, store.layout.task(task_id))
