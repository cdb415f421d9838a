"""All tasks, with a status derived from evidence: spec, run, exit, the worker's lock and its last event.

Archived ones are in tasks/archive/YYYY/MM/<id>/: their names are in memory, their records are read when shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import overload

import msgspec

from lumen_tui.model.problem import Problem
from lumen_tui.model.tasks import Exit, Run, Spec, Status, TaskView
from lumen_tui.storage import files, process
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks.liveness import TICK, poll
from lumen_tui.store.tasks.task_records import (
    DamagedTask,
    TaskFiles,
    archive_months,
    archived_folder,
    make_view,
    read_json,
    read_spec,
    task_names,
)

_RANK = {
    Status.WAITING: 0,
    Status.ASKING: 0,
    Status.AWAITING: 1,
    Status.RUNNING: 1,
    Status.STALLED: 1,
    Status.QUEUED: 2,
    Status.LOST: 3,
    Status.FAILED: 3,
    Status.DONE: 4,
    Status.CANCELLED: 4,
}


class ArchiveIndex:
    """The archive: months are checked for changes, names listed on demand, records read when shown."""

    def __init__(self, layout: Layout) -> None:
        self._root = layout.archive
        self._stamps: dict[Path, int] = {}
        self._stale: set[Path] = set()  # months that changed since their names were listed
        self._found: dict[Path, dict[str, tuple[int, Path]]] = {}
        self._order: tuple[Path, ...] = ()
        self._cache: dict[Path, TaskView] = {}

    def refresh(self) -> bool:
        """Check for changes; return whether there are any. Lists nothing."""
        changed = False
        for _, month, stamp in archive_months(self._root):
            if self._stamps.get(month) != stamp:
                self._stamps[month] = stamp
                self._stale.add(month)
                changed = True
        return changed

    def _list(self, month: Path) -> None:
        """List one month; only unknown names cost anything."""
        known = self._found.get(month, {})
        names = task_names(month)
        paths = {name: known[name] for name in names & known.keys()}
        for name in names - known.keys():
            path = month / name
            paths[name] = (os.stat(path).st_mtime_ns, path)
        self._found[month] = paths

    def rows(self) -> tuple[Path, ...]:
        """Return the folders of archived tasks, newest first."""
        if self._stale:
            for month in self._stale:
                self._list(month)
            self._stale = set()
            months = [sorted(self._found[month].values(), reverse=True) for month in sorted(self._found, reverse=True)]
            self._order = tuple(path for month_paths in months for _, path in month_paths)
        return self._order

    def view(self, folder: Path) -> TaskView | None:
        """Return one archived task; None where its files cannot be read."""
        if folder not in self._cache:
            try:
                task = TaskFiles(folder, read_spec(folder))
            except (DamagedTask, files.StoreError, OSError):
                return None
            task.run = read_json(folder / "run.json", Run)
            task.exit = read_json(folder / "exit.json", Exit)
            status = Status(task.exit.status) if task.exit else Status.LOST
            if len(self._cache) > 500:
                self._cache.clear()
            view = self._cache[folder] = make_view(task, status, archived=True)
            return view
        return self._cache.get(folder) or self.view(folder)  # a thread beside may have emptied it

    def folder(self, task_id: str) -> Path | None:
        """Return the folder of a task; None where it is not archived."""
        return archived_folder(self._root, task_id)

    def find(self, task_id: str) -> TaskView | None:
        folder = self.folder(task_id)
        return self.view(folder) if folder else None


class TaskList(Sequence[TaskView]):
    """Live tasks, then the archive, newest first; archived ones are read when shown."""

    def __init__(self, live: list[TaskView], archive: ArchiveIndex) -> None:
        self._live = live
        self._archive = archive
        self._folders = archive.rows()

    def __len__(self) -> int:
        return len(self._live) + len(self._folders)

    def __iter__(self) -> Iterator[TaskView]:
        yield from self._live
        for at in range(len(self._live), len(self)):
            yield self[at]

    @overload
    def __getitem__(self, index: int) -> TaskView: ...
    @overload
    def __getitem__(self, index: slice) -> list[TaskView]: ...
    def __getitem__(self, index: int | slice) -> TaskView | list[TaskView]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        if at < len(self._live):
            return self._live[at]
        folder = self._folders[at - len(self._live)]
        unreadable = Spec(id=folder.name, objective="(not readable)")
        return self._archive.view(folder) or TaskView(spec=unreadable, status=Status.LOST, archived=True)


class TaskIndex:
    """All tasks of one state folder."""

    def __init__(self, layout: Layout, *, at_once: int = 0) -> None:
        """`at_once` is how many new tasks are read in one refresh, those that may be alive first; 0 for all."""
        self._layout = layout
        self._at_once = at_once
        self._live: dict[str, TaskFiles] = {}
        self._unread: dict[str, None] = {}
        self._folder_stamp = -1
        self._sorted: tuple[int, list[TaskView]] = (-1, [])
        self._next: tuple[int, list[TaskView]] = (-1, [])
        self._by_status: tuple[int, dict[Status, list[TaskView]]] = (-1, {})
        self._moving: set[str] = set()  # tasks whose evidence can change without a file of theirs being written
        self._expected: set[str] = set()  # tasks on which the caller knows that something changed
        self.problems: dict[str, Problem] = {}
        self._running = 0.0
        self.revision = 0
        self.archive = ArchiveIndex(layout)

    def refresh(
        self, now: float, stall_after: dict[str, float], only: set[str] | None = None, *, running: float | None = None
    ) -> bool:
        """Check for changes; return whether there were any.

        `stall_after` gives the silence in seconds after which a role's worker counts as stalled.
        `only` names the tasks that may have changed (from the watcher); None checks all.
        `running` is running time, by which silence is measured; without it the wall clock is used.
        """
        self._running = now if running is None else running
        before = self.loading
        changed = self._list_folder(now) or before
        if before:
            self._take_some()
        names = self._live.keys() if only is None else self._moving | self._expected | (only & self._live.keys())
        self._expected = set()
        for name in list(names):
            task = self._live[name]
            changed |= poll(task, now, self._running, stall_after.get(task.spec.role, 120.0))
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
            repaired = [self._add(name) for name in list(self.problems)]
            return any(repaired)
        self._folder_stamp = stamp
        names = task_names(self._layout.tasks)
        for removed in self._live.keys() - names:
            del self._live[removed]
            self._moving.discard(removed)
            self._expected.discard(removed)
        for removed in self.problems.keys() - names:
            del self.problems[removed]
        for removed in self._unread.keys() - names:
            del self._unread[removed]
        new = names - self._live.keys() - self._unread.keys()
        many = 0 < self._at_once < len(new)
        for name in new:
            if many and not self._may_live(name):
                self._unread[name] = None
            else:
                self._add(name)
        return True

    def _may_live(self, name: str) -> bool:
        """Return whether a worker may be at the task: two cheap checks, no read."""
        folder = f"{self._layout.tasks}/{name}"
        return os.access(f"{folder}/run.json", os.F_OK) and not os.access(f"{folder}/exit.json", os.F_OK)

    def _take_some(self) -> None:
        """Read the next few of the tasks that were put off."""
        for name in list(self._unread)[: self._at_once]:
            del self._unread[name]
            self._add(name)

    @property
    def loading(self) -> bool:
        """Whether some tasks were not read yet; none of them can be alive."""
        return bool(self._unread)

    def _add(self, name: str) -> bool:
        """Add a task folder; return False where its spec cannot be used (it is tried again at each refresh)."""
        folder = self._layout.tasks / name
        try:
            self._live[name] = TaskFiles(folder, read_spec(folder))
            self.problems.pop(name, None)
            self._moving.add(name)
            return True
        except (DamagedTask, files.StoreError, OSError) as error:
            hint = "fix spec.json or move the folder away; no other task is affected"
            self.problems[name] = Problem(where=f"tasks/{name}/spec.json", what=str(error), hint=hint)
            return False

    def expect(self, task_id: str) -> None:
        """Check this task in the next refresh."""
        self._expected.add(task_id)

    def live(self) -> list[TaskView]:
        """Return the tasks that are not archived: waiting, running, queued (older first), failed, done."""
        if self._sorted[0] != self.revision:
            self._sorted = (self.revision, self._in_order([task for task in self._live.values() if task.view]))
        return self._sorted[1]

    def of_status(self, statuses: Iterable[Status]) -> list[TaskView]:
        """Return the tasks of `live` that have one of these, in no order; all are looked at once for each change."""
        if self._by_status[0] != self.revision:
            self._by_status = (self.revision, {})
            for task in self._live.values():
                if task.view:
                    self._by_status[1].setdefault(task.view.status, []).append(task.view)
        return [view for status in statuses for view in self._by_status[1].get(status, ())]

    def queued(self) -> list[TaskView]:
        """Return the tasks that wait for a worker, the next one first."""
        if self._next[0] != self.revision:
            waiting = [task for task in self._live.values() if task.view and task.view.status is Status.QUEUED]
            self._next = (self.revision, self._in_order(waiting))
        return self._next[1]

    def running(self) -> dict[str, Run]:
        """Return the attempts that have a live worker, by task id."""
        tasks = (self._live[name] for name in self._moving)
        return {task.spec.id: task.run for task in tasks if task.run and task.view and task.view.status.alive}

    def unsettled(self) -> set[str]:
        """Return the ids of the tasks that may be changing."""
        return (self._moving | self._expected) & self._live.keys()

    def is_leaderless(self, task_id: str) -> bool:
        """Return whether the task's lock is held although the worker that took it is gone."""
        task = self._live[task_id]
        return task.leader.pid > 0 and task.exit is None and not process.is_same(task.leader)

    def busy(self) -> bool:
        """Return whether a worker lives or something else changes without a file being written."""
        return bool(self._moving)

    def _in_order(self, tasks: list[TaskFiles]) -> list[TaskView]:
        unfinished = {
            name for name, task_files in self._live.items() if task_files.view and _unfinished(task_files.view)
        }
        pairs = sorted(((task, task.view) for task in tasks if task.view), key=_order)
        return [_with_waits(view, unfinished) for _, view in pairs]

    def find(self, task_id: str) -> TaskView | None:
        """Return a task by its whole id, live or archived; None where there is none."""
        if task_id in self._unread and self._add(task_id):
            del self._unread[task_id]
            poll(self._live[task_id], self._running, self._running, 0.0)
        task = self._live.get(task_id)
        if task is None or task.view is None:
            return self.archive.find(task_id)
        needed = (self._live.get(name) for name in task.spec.depends_on)
        return _with_waits(
            task.view,
            {
                needed_task.spec.id
                for needed_task in needed
                if needed_task and needed_task.view and _unfinished(needed_task.view)
            },
        )

    def folder(self, task_id: str) -> Path | None:
        """Return the folder of a task; None where there is none."""
        if task_id in self._unread:
            return self._layout.tasks / task_id
        if task_id in self._live:
            return self._live[task_id].folder
        return self.archive.folder(task_id)


def _unfinished(view: TaskView) -> bool:
    return view.status is not Status.DONE


def _with_waits(view: TaskView, unfinished: Set[str]) -> TaskView:
    if view.status is not Status.QUEUED or not view.spec.depends_on:
        return view
    waits = tuple(name for name in view.spec.depends_on if name in unfinished)
    return msgspec.structs.replace(view, waits_for=waits)


def _order(pair: tuple[TaskFiles, TaskView]) -> tuple[int, str, float, str]:
    """Return what a task is sorted by; the id parts those of one moment, so that no list depends on the folder."""
    task, view = pair
    rank = _RANK[view.status]
    if rank == 2:
        return rank, "" if view.claimed else view.spec.priority, task.created, view.id
    return rank, "", view.started if rank < 2 else -view.finished, view.id
