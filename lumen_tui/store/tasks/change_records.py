"""What tasks that worked apart changed, and what was decided on it.

A list is open until each of its files is decided on. So that those can be found without a look at every task there ever
was, `tasks/.changes` has an entry for each: it is made before a list opens and removed after the last decision, so that
an entry without an open list is the worst that a kill leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from lumen_tui.model import ids, times
from lumen_tui.model.changelist import ChangeList, Decision, Decisions, OpenList, is_open, is_open_file
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage import directories, files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamp, stamp
from lumen_tui.store.tasks import task_files

FOLDER = "changes"  # in the task's folder
_LIST = "list.json"
_DECISIONS = "decisions.json"
_MOST = 256 * 1024 * 1024  # bytes of a list
_MOST_RECORD = 16 * 1024 * 1024  # bytes
_Record = TypeVar("_Record")


class Unreadable(OSError):
    """A record that is damaged."""


def read_record(path: Path, kind: type[_Record], most: int = _MOST_RECORD) -> _Record | None:
    """Return what the file holds, None where there is none. Raise Unreadable where it is damaged."""
    data = files.read(path, most)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=kind)
    except UNDECODABLE as error:
        raise Unreadable(f"{path.parent.name}/{path.name} cannot be read: {error}") from error


def read_list(folder: Path) -> ChangeList | None:
    """Return what the task in `folder` changed; None where there is no list (yet)."""
    return read_record(folder / FOLDER / _LIST, ChangeList, _MOST)


def write_list(layout: Layout, folder: Path, changes: ChangeList) -> None:
    """Write what the task changed; one of an earlier attempt is kept beside it."""
    if is_open(changes, {}):
        _enter(layout, folder.name)
    target = folder / FOLDER / _LIST
    directories.make_folder(target.parent)
    if target.exists():
        number = len(list(target.parent.glob("list.*.json"))) + 1
        directories.move(target, target.with_name(f"list.{number}.json"))
    files.replace(target, msgspec.json.encode(changes))


def read_decisions(folder: Path) -> Decisions:
    """Return what was decided on each file."""
    return read_record(folder / FOLDER / _DECISIONS, dict[str, Decision]) or {}


def write_decisions(layout: Layout, folder: Path, changes: ChangeList, decisions: Decisions) -> None:
    """Write what was decided on each file."""
    if still_open := is_open(changes, decisions):
        _enter(layout, folder.name)
    files.replace(folder / FOLDER / _DECISIONS, msgspec.json.encode(decisions))
    if not still_open:
        files.discard(str(_entry(layout, folder.name)))


def _entry(layout: Layout, task_id: str) -> Path:
    return layout.open_changes / ids.check_name(task_id, "task id")


def _enter(layout: Layout, task_id: str) -> None:
    directories.make_folder(layout.open_changes)
    if not (entry := _entry(layout, task_id)).exists():
        files.replace(entry, b"")


def entered(layout: Layout) -> list[str]:
    """Return the ids of the tasks whose lists may be open."""
    try:
        return sorted(path.name for path in layout.open_changes.iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return []


class OpenLists:
    """The lists that are open. Each is read again only where it changed."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._read: dict[str, tuple[list[Stamp], OpenList | None]] = {}
        self._folders: dict[str, Path] = {}
        self.revision = 0

    @property
    def open(self) -> tuple[OpenList, ...]:
        """The open lists, the oldest first."""
        lists = (open_list for _, open_list in self._read.values() if open_list is not None)
        return tuple(sorted(lists, key=lambda open_list: open_list.since))

    def refresh(self) -> None:
        """Read what is new."""
        before = self._read
        self._read = dict(self._looked(before))
        if self._read != before:
            self.revision += 1

    def _looked(
        self, before: dict[str, tuple[list[Stamp], OpenList | None]]
    ) -> Iterator[tuple[str, tuple[list[Stamp], OpenList | None]]]:
        for task_id in entered(self._layout):
            folder = self._folder(task_id)
            if folder is None:
                continue
            stamps = [stamp(folder / FOLDER / name) for name in (_LIST, _DECISIONS)]
            known = before.get(task_id)
            if known is not None and known[0] == stamps:
                yield task_id, known
            else:
                yield task_id, (stamps, self._look(task_id, folder))

    def _folder(self, task_id: str) -> Path | None:
        """Return the task's folder, which moves once: into the archive."""
        folder = self._folders.get(task_id)
        if folder is None or not folder.is_dir():
            folder = task_files.folder_of(self._layout, task_id)
            if folder is None:
                return None
            self._folders[task_id] = folder
        return folder

    def _look(self, task_id: str, folder: Path) -> OpenList | None:
        try:
            changes, decisions = read_list(folder), read_decisions(folder)
            spec = task_files.read_spec(self._layout, task_id)
        except (OSError, BadFile):
            return None  # `doctor` names what is wrong with it
        if changes is None or not is_open(changes, decisions):
            return None
        open_files = [file for file in changes.files if is_open_file(file, decisions)]
        return OpenList(
            task_id,
            spec.role if spec else "",
            spec.objective if spec else "",
            len(open_files),
            sum(file.added for file in open_files),
            sum(file.removed for file in open_files),
            times.epoch(changes.at),
        )
