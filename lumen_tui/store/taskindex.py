"""All tasks from evidence: spec, run, exit, the worker's lock and its last word."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from lumen_tui.model import times
from lumen_tui.model.snapshot import Problem
from lumen_tui.model.tasks import Exit, Run, Status, TaskView, derive_status
from lumen_tui.store import files
from lumen_tui.store.layout import Layout
from lumen_tui.store.taskarchive import ArchiveIndex
from lumen_tui.store.taskread import BadTask, TaskFiles, make_view, read_json, read_spec, tail_events, task_names

TICK = 0.1  # seconds within which a file system may give two changes the same stamp


class TaskIndex:
    """All tasks of one state folder."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._live: dict[str, TaskFiles] = {}
        self._folder_stamp = -1
        self._sorted: tuple[int, tuple[list[TaskView], list[TaskView], list[TaskView]]] | None = None
        self._moving: set[str] = set()  # tasks whose evidence can change without a file of theirs being written
        self._expected: set[str] = set()  # tasks on which the caller knows that something changed
        self.problems: dict[str, Problem] = {}
        self.revision = 0
        self.archive = ArchiveIndex(layout)

    def refresh(self, now: float, stall_after: dict[str, float], only: set[str] | None = None) -> bool:
        """Look for changes; True where something changed.

        `stall_after` gives the silence in seconds after which a role's worker counts as stalled.
        `only` names the tasks that may have changed (from the watcher); None looks at all.
        """
        changed = self._list_folder(now)
        names = self._live.keys() if only is None else self._moving | self._expected | (only & self._live.keys())
        self._expected = set()
        for name in list(names):
            task = self._live[name]
            changed |= self._look(task, now, stall_after.get(task.spec.role, 120.0))
            self._sort_in(name, task)
        changed |= self.archive.refresh()
        self.revision += changed
        return changed

    def _sort_in(self, name: str, task: TaskFiles) -> None:
        view = task.view
        settled = view is not None and not view.status.alive and (view.status is not Status.LOST or view.finished)
        if not settled or task.fresh:
            self._moving.add(name)
        else:
            self._moving.discard(name)

    def _list_folder(self, now: float) -> bool:
        try:
            stamp = os.stat(self._layout.tasks).st_mtime_ns
        except OSError:
            stamp = 0
        if stamp == self._folder_stamp and now - stamp / 1e9 > TICK:
            mended = [self._meet(name) for name in list(self.problems)]
            return any(mended)
        self._folder_stamp = stamp
        names = task_names(self._layout.tasks)
        for gone in self._live.keys() - names:
            del self._live[gone]
            self._moving.discard(gone)
            self._expected.discard(gone)
        for gone in self.problems.keys() - names:
            del self.problems[gone]
        for name in names - self._live.keys():
            self._meet(name)
        return True

    def _meet(self, name: str) -> bool:
        """Take in a task folder; False where its spec cannot be used (it is tried again at each look)."""
        folder = self._layout.tasks / name
        try:
            self._live[name] = TaskFiles(folder, read_spec(folder))
            self.problems.pop(name, None)
            self._moving.add(name)
            return True
        except (BadTask, files.StoreError, OSError) as error:
            hint = "mend spec.json or move the folder away; no other task is affected"
            self.problems[name] = Problem(where=f"tasks/{name}/spec.json", what=str(error), hint=hint)
            return False

    def _look(self, task: TaskFiles, now: float, stall_after: float) -> bool:
        self._read_changes(task, now)
        held = task.exit is None and task.run is not None and files.is_locked(task.folder / "run.lock")
        if not held and task.run is not None and task.exit is None:
            task.exit = read_json(task.folder / "exit.json", Exit)  # it may have ended between the two looks
        status = derive_status(
            exit_status=task.exit.status if task.exit else "", ran=task.run is not None, lock_held=held,
            silent_for=now - max(task.last_event, task.started), stall_after=stall_after,
        )  # fmt: skip
        view = make_view(task, status)
        if view == task.view:
            return False
        task.view = view
        return True

    def _read_changes(self, task: TaskFiles, now: float) -> None:
        """Folder stamps tell of new files, the size of events.jsonl of new events: no read without a change."""
        try:
            stamp = (os.stat(task.folder).st_mtime_ns, os.stat(task.folder / "spec.json").st_mtime_ns)
        except OSError:
            return
        known, was_fresh = task.stamp, task.fresh
        if stamp != known or was_fresh:
            task.stamp, task.fresh = stamp, now - max(stamp) / 1e9 < TICK
            if known != (0, 0):
                self._reread(task)
            task.run = read_json(task.folder / "run.json", Run)
            task.exit = read_json(task.folder / "exit.json", Exit)
        size = _size(task.folder / "events.jsonl")
        if size != task.events_size:
            task.events_size = size
            task.tail = tail_events(task.folder)
            task.last_event = times.epoch(task.tail[-1].at) if task.tail else 0.0

    def _reread(self, task: TaskFiles) -> None:
        try:
            task.spec = read_spec(task.folder)
        except (BadTask, files.StoreError, OSError):
            pass  # the last readable spec stands

    def expect(self, task_id: str) -> None:
        """Look at this task in the next refresh, whatever it was."""
        self._expected.add(task_id)

    def live(self) -> list[TaskView]:
        """Tasks that are not archived: who waits, who runs, who is next, what failed; older first among queued."""
        return self._lists()[0]

    def queued(self) -> list[TaskView]:
        """Tasks that wait for a worker, the next one first."""
        return self._lists()[1]

    def begun(self) -> list[TaskView]:
        """Tasks that have or had a worker, or ended without one."""
        return self._lists()[2]

    def busy(self) -> bool:
        """Whether a worker lives or something else moves without a file being written."""
        return bool(self._moving)

    def _lists(self) -> tuple[list[TaskView], list[TaskView], list[TaskView]]:
        """The three lists, sorted anew only after a change."""
        if self._sorted is None or self._sorted[0] != self.revision:
            ended = {name for name, task in self._live.items() if task.view and task.view.status is Status.DONE}
            views = [self._with_waits(task.view, ended) for task in self._live.values() if task.view]
            views.sort(key=_order)
            queued = [view for view in views if view.status is Status.QUEUED]
            begun = [view for view in views if view.status is not Status.QUEUED]
            self._sorted = (self.revision, (views, queued, begun))
        return self._sorted[1]

    def _with_waits(self, view: TaskView, ended: set[str]) -> TaskView:
        if view.status is not Status.QUEUED or not view.spec.depends_on:
            return view
        waits = tuple(name for name in view.spec.depends_on if name in self._live and name not in ended)
        return msgspec.structs.replace(view, waits_for=waits)

    def find(self, task_id: str) -> TaskView | None:
        """A task by its whole id, live or archived."""
        task = self._live.get(task_id)
        return task.view if task and task.view else self.archive.find(task_id)

    def folder(self, task_id: str) -> Path | None:
        """Where a task's files stand now."""
        if task_id in self._live:
            return self._live[task_id].folder
        return self.archive.folder(task_id)


_RANK = {
    Status.WAITING: 0, Status.RUNNING: 1, Status.STALLED: 1, Status.QUEUED: 2, Status.LOST: 3, Status.FAILED: 3,
    Status.DONE: 4, Status.CANCELLED: 4,
}  # fmt: skip


def _order(view: TaskView) -> tuple[int, str, float]:
    rank = _RANK[view.status]
    if rank == 2:
        return rank, view.spec.priority, times.epoch(view.spec.created_at)
    return rank, "", view.started if rank < 2 else -view.finished


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1
