"""Archived tasks, tasks/archive/YYYY/MM/<id>/: names are in memory, records are read when shown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

from lumen_tui.model.tasks import Exit, Run, Spec, Status, TaskView
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
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
            self._cache[folder] = make_view(task, status, archived=True)
        return self._cache[folder]

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
