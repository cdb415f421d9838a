"""What tasks changed in folders of their own, file by file; a person accepts, drops or edits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.segment import Segment

from lumen_tui.actions import change_views
from lumen_tui.actions.change_views import FileView
from lumen_tui.actions.changelists import ChangeListing
from lumen_tui.engine.port import Port
from lumen_tui.model import ids, times
from lumen_tui.model.changelist import FileChange
from lumen_tui.model.text import one_line, safe
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.sheets import Rows, fill
from lumen_tui.tui.screens.change_lines import ChangeLinesScreen, ChangeSheet


class FileRows(Rows[FileView]):
    """State, size, path, age; below the selected one what does not fit, or what the task was about."""

    def key(self, row: FileView) -> str:
        return f"{row.listing.task_id} {row.change.path}"

    def line(self, row: FileView, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, change = self.look.ink, row.change
        size = f"+{change.added:,} -{change.removed:,}" if change.text else "whole"
        return line(
            width,
            [
                Cell("conflict" if row.conflict else row.state, ink.loud if row.conflict else ink.muted, 9),
                Cell(change.kind, ink.muted, 8),
                Cell(safe(change.path), ink.strong if selected else ink.text),
                Cell(size, ink.muted, min(14, width // 6), right=True),
                Cell(ids.short(row.listing.task_id), ink.muted, 6, right=True),
                Cell(words.age(self.now - times.epoch(row.listing.changes.at)), ink.muted, 6, right=True),
            ],
        )

    def more(self, row: FileView, width: int) -> list[Segment]:
        text = change_views.remark(row.change, row.listing.changes.files) or row.objective
        if row.conflict:
            text = f"does not fit: {row.conflict}"
        elif row.rivals:
            text = f"changed by {', '.join(map(ids.short, row.rivals))}, too"
        return line(width, [Cell("", self.look.ink.muted, 9), Cell(one_line(text, 300), self.look.ink.muted)])

    def words(self, row: FileView) -> str:
        return f"{row.change.path} {row.listing.task_id} {row.objective}"

    def fields(self, row: FileView) -> dict[str, str]:
        state = "conflict" if row.conflict else row.state
        return {"path": row.change.path, "task": row.listing.task_id, "state": state, "kind": row.change.kind}


class ChangesScreen(ChangeSheet[FileView, Sequence[FileView]]):
    """The files of all open change lists, the newest list first."""

    SCOPE = "changes"
    OF_ROWS = frozenset({"changes_accept", "changes_drop", "changes_edit", "new_task"})
    EMPTY = "No change list is open: `task new --isolate worktree` has a task hand one in."
    TWO_LINES = True

    def __init__(self, port: Port, now: float, root: Path, refusal: str = "", at: str = "") -> None:
        """`at`: the task on whose first file the cursor begins."""
        super().__init__("Changes", now, change_views.file_reader(root), port, refusal)
        self._root, self._at = root, at
        self._rows: dict[str, FileView] = {}

    def rows_view(self) -> FileRows:
        return FileRows(appearance_of(self.app), self._now)

    def _loaded(self, files: Sequence[FileView]) -> None:
        self._rows = {f"{row.listing.task_id} {row.change.path}": row for row in files}
        tasks = len({row.listing.task_id for row in files})
        clash = sum(bool(row.conflict) for row in files)
        more = f" · {clash} in conflict" if clash else ""
        fill(
            self,
            list(files),
            "Changes",
            f"{words.plural(len(files), 'file')} of {words.plural(tasks, 'task')}{more}",
        )
        if self._at and (first := next((key for key in self._rows if key.startswith(f"{self._at} ")), "")):
            self.rows.select_key(first)
        self._at = ""

    def chosen(self) -> dict[str, list[str]]:
        chosen: dict[str, list[str]] = {}
        for key in self.rows.targets():
            if row := self._rows.get(key):
                chosen.setdefault(row.listing.task_id, []).append(row.change.path)
        if not chosen:
            self.say("nothing is chosen", bad=True)
        return chosen

    def edited_file(self) -> tuple[ChangeListing, FileChange] | None:
        task_id, paths = next(iter(self.chosen().items()), ("", []))
        row = self._rows[f"{task_id} {paths[0]}"] if paths else None
        return (row.listing, row.change) if row else None

    def opened(self, row: FileView) -> None:
        place = (row.listing.task_id, row.change.path)
        screen = ChangeLinesScreen(self._port, self._now, self._root, place, self._refusal)
        self.app.push_screen(screen, lambda _: self.loader.load())
