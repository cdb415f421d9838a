"""Ended tasks: tasks/archive/YYYY/MM/<id>/, names in memory, records read when they are shown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import overload

from lumen_tui.model.tasks import Exit, Run, Spec, Status, TaskView
from lumen_tui.store import files
from lumen_tui.store.layout import Layout
from lumen_tui.store.taskread import BadTask, TaskFiles, make_view, read_json, read_spec, task_names


class ArchiveIndex:
    """tasks/archive/YYYY/MM/<id>: names in memory, records read when shown."""

    def __init__(self, layout: Layout) -> None:
        self._root = layout.archive
        self._stamps: dict[Path, int] = {}
        self._found: dict[Path, list[tuple[int, str]]] = {}
        self._order: tuple[Path, ...] = ()
        self._cache: dict[Path, TaskView] = {}

    def refresh(self) -> bool:
        changed = False
        for month in sorted(self._root.glob("[0-9][0-9][0-9][0-9]/[0-9][0-9]")):
            stamp = os.stat(month).st_mtime_ns
            if self._stamps.get(month) != stamp:
                self._stamps[month] = stamp
                self._found[month] = sorted((os.stat(month / name).st_mtime_ns, name) for name in task_names(month))
                changed = True
        if changed:
            pairs = [(month, name) for month in sorted(self._found) for _, name in self._found[month]]
            self._order = tuple(month / name for month, name in reversed(pairs))
        return changed

    def rows(self) -> tuple[Path, ...]:
        """Folders of archived tasks, newest first."""
        return self._order

    def view(self, folder: Path) -> TaskView | None:
        """One archived task; None where its files cannot be read."""
        if folder not in self._cache:
            try:
                task = TaskFiles(folder, read_spec(folder))
            except (BadTask, files.StoreError, OSError):
                return None
            task.run, task.exit = read_json(folder / "run.json", Run), read_json(folder / "exit.json", Exit)
            status = Status(task.exit.status) if task.exit else Status.LOST
            if len(self._cache) > 500:
                self._cache.clear()
            self._cache[folder] = make_view(task, status, archived=True)
        return self._cache[folder]

    def folder(self, task_id: str) -> Path | None:
        return next((path for path in self._order if path.name == task_id), None)

    def find(self, task_id: str) -> TaskView | None:
        folder = self.folder(task_id)
        return self.view(folder) if folder else None


class TaskRows(Sequence[TaskView]):
    """Live tasks, then the archive, newest first; archived ones are read when they are asked for."""

    def __init__(self, live: list[TaskView], archive: ArchiveIndex) -> None:
        self._live, self._archive, self._folders = live, archive, archive.rows()

    def __len__(self) -> int:
        return len(self._live) + len(self._folders)

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
