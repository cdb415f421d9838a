"""Which task ordered which: the ancestors and the descendants of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lumen_tui.model.tasks import Spec
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks.task_files import folder_of, read_exit
from lumen_tui.store.tasks.task_records import DamagedTask, read_spec, task_names

_DEEPEST = 20  # of what is followed: a chain that somebody wrote by hand may be a circle


def ancestors(layout: Layout, task_id: str) -> Iterator[Spec]:
    """Yield the specs of a task, of the one that ordered it, and so on; one that cannot be read ends it."""
    known: set[str] = set()
    while task_id and task_id not in known and len(known) < _DEEPEST:
        known.add(task_id)
        folder = folder_of(layout, task_id)
        try:
            spec = read_spec(folder) if folder else None
        except (DamagedTask, files.StoreError, OSError):
            return
        if spec is None:
            return
        yield spec
        task_id = spec.parent


def spec_files(layout: Layout, task_ids: Iterable[str]) -> list[Path]:
    """Return where the specs of these tasks are, live or archived; of one that is not there where it would be."""
    return [(folder_of(layout, name) or layout.task(name)) / "spec.json" for name in task_ids]


def not_over(layout: Layout, task_ids: Iterable[str]) -> list[str]:
    """Return those of the tasks that have not ended; one that is not there any more has."""
    folders = ((name, folder_of(layout, name)) for name in task_ids)
    return [name for name, folder in folders if folder is not None and read_exit(folder) is None]


def descendants(layout: Layout, task_id: str) -> list[str]:
    """Return the tasks that are not archived and that a task ordered, or one of those; parents come first."""
    below: dict[str, list[str]] = {}
    for name in sorted(task_names(layout.tasks)):
        try:
            parent = read_spec(layout.task(name)).parent
        except (DamagedTask, files.StoreError, OSError):
            continue
        if parent:
            below.setdefault(parent, []).append(name)
    task_ids: list[str] = []
    waiting = [task_id]
    while waiting:
        for name in below.pop(waiting.pop(0), []):
            task_ids.append(name)
            waiting.append(name)
    return task_ids
