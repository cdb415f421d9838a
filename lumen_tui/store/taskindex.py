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


class TaskIndex:
    """All tasks of one state folder."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._live: dict[str, TaskFiles] = {}
        self._folder_stamp = -1
        self._listed: tuple[int, list[TaskView]] | None = None  # the sorted list of one revision
        self._expected: set[str] = set()  # tasks on which the caller knows that something changed
        self.problems: dict[str, Problem] = {}
        self.revision = 0
        self.archive = ArchiveIndex(layout)

    def refresh(self, now: float, stall_after: dict[str, float], only: set[str] | None = None) -> bool:
        """Look for changes; True where something changed.

        `stall_after` gives the silence in seconds after which a role's worker counts as stalled.
        `only` names the tasks that may have changed (from the watcher); None looks at all.
        """
        changed = self._list_folder()
        expected, self._expected = self._expected, set()
        for name, task in self._live.items():
            alive = task.view is None or task.view.status.alive or task.view.status is Status.LOST
            if alive or only is None or name in only or name in expected:
                changed |= self._look(task, now, stall_after.get(task.spec.role, 120.0))
        changed |= self.archive.refresh()
        self.revision += changed
        return changed

    def _list_folder(self) -> bool:
        try:
            stamp = os.stat(self._layout.tasks).st_mtime_ns
        except OSError:
            stamp = 0
        if stamp == self._folder_stamp:
            mended = [self._meet(name) for name in list(self.problems)]
            return any(mended)
        self._folder_stamp = stamp
        names = task_names(self._layout.tasks)
        for gone in self._live.keys() - names:
            del self._live[gone]
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
            return True
        except (BadTask, files.StoreError, OSError) as error:
            hint = "mend spec.json or move the folder away; no other task is affected"
            self.problems[name] = Problem(where=f"tasks/{name}/spec.json", what=str(error), hint=hint)
            return False

    def _look(self, task: TaskFiles, now: float, stall_after: float) -> bool:
        self._read_changes(task)
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

    def _read_changes(self, task: TaskFiles) -> None:
        """Folder stamps tell of new files, the size of events.jsonl of new events: no read without a change."""
        try:
            stamp = (os.stat(task.folder).st_mtime_ns, os.stat(task.folder / "spec.json").st_mtime_ns)
        except OSError:
            return
        if stamp != task.stamp:
            task.stamp = stamp
            try:
                task.spec = read_spec(task.folder)
            except (BadTask, files.StoreError, OSError):
                pass  # the last readable spec stands
            task.run = read_json(task.folder / "run.json", Run)
            task.exit = read_json(task.folder / "exit.json", Exit)
        size = _size(task.folder / "events.jsonl")
        if size != task.events_size:
            task.events_size = size
            task.tail = tail_events(task.folder)
            task.last_event = times.epoch(task.tail[-1].at) if task.tail else 0.0

    def expect(self, task_id: str) -> None:
        """Look at this task in the next refresh, whatever it was."""
        self._expected.add(task_id)

    def live(self) -> list[TaskView]:
        """Tasks that are not archived: who waits, who runs, who is next, what failed; older first among queued."""
        if self._listed is None or self._listed[0] != self.revision:
            ended = {name for name, task in self._live.items() if task.view and task.view.status is Status.DONE}
            views = [self._with_waits(task.view, ended) for task in self._live.values() if task.view]
            self._listed = (self.revision, sorted(views, key=_order))
        return self._listed[1]

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
