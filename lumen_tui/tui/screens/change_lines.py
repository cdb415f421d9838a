"""One file of a change list: its hunks are accepted or dropped one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from textual.app import App

from lumen_tui.actions import change_lines, change_views
from lumen_tui.actions.change_lines import CLASH, DiffLine, FileLines
from lumen_tui.actions.changelists import ChangeListing
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import Port
from lumen_tui.model import ids
from lumen_tui.model.changelist import FileChange
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.changes import AcceptChanges, DropChanges, GiveConflicts, WriteChange
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.text import safe
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit import editor
from lumen_tui.tui.kit.lines import Cell, diff_line, line
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import LoadedSheet, Rows, act, fill

_ACTS = ("changes_accept", "changes_drop", "changes_edit", "new_task", "undo", "mark")
_STATE = 9  # cells
_AROUND = _STATE + 4  # cells of a row beside the text
_LONGEST = 2000
Row = TypeVar("Row")
Found = TypeVar("Found")


class LineRows(Rows[DiffLine]):
    """What became of the hunk at its first line, and the line; below the selected one what had no room."""

    def key(self, row: DiffLine) -> str:
        return str(row.number)

    def line(self, row: DiffLine, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        style = {"+": ink.good, "-": ink.bad, "@": ink.accent}.get(row.text[:1], ink.text) if row.hunk else ink.muted
        state = Cell(row.state, ink.loud if row.state == CLASH else ink.muted, _STATE)
        return line(
            width, [state, Cell(diff_line(row.text, self.look), ink.strong if selected and not row.hunk else style)]
        )

    def more(self, row: DiffLine, width: int) -> list[Segment]:
        text, room = row.text[:_LONGEST], width - _STATE - 2
        rest = text[len(chop_cells(text, max(2, room - 1))[0]) :] if cell_len(text) > room else ""
        return line(
            width, [Cell("", self.look.ink.muted, _STATE), Cell(f"…{rest}" if rest else "", self.look.ink.muted)]
        )

    def words(self, row: DiffLine) -> str:
        return row.text

    def fields(self, row: DiffLine) -> dict[str, str]:
        return {"hunk": str(row.hunk), "state": row.state}


class ChangeVerbs:
    """What the keys do with the changes that are chosen on a sheet: one request for each task."""

    def __init__(self, sheet: ChangeSheet[Any, Any], port: Port, refusal: str) -> None:
        self._sheet, self._port, self._refusal = sheet, port, refusal

    def accept(self) -> None:
        """Bring them in."""
        self._request(self._sheet.chosen, lambda task_id, paths: AcceptChanges(task_id=task_id, paths=paths))

    def drop(self) -> None:
        """Reject them."""
        self._request(self._sheet.chosen, lambda task_id, paths: DropChanges(task_id=task_id, paths=paths))

    def give(self) -> None:
        """Have a worker bring in the files, together with what is there now."""
        self._request(self._sheet.files, lambda task_id, paths: GiveConflicts(task_id=task_id, paths=paths))

    def edit(self) -> None:
        """Open the file with both sides in the operator's editor, and bring in what comes back."""
        if not self._may_act() or (file := self._sheet.edited_file()) is None:
            return
        if request := _edited(self._sheet.app, *file, lambda text: self._sheet.say(text, bad=True)):
            self._act(request)

    def undo(self) -> None:
        """Undo the operator's last action."""
        if self._may_act():
            self._act(Undo())

    def _request(self, chosen: Callable[[], dict[str, list[str]]], ask: Callable[[str, list[str]], Request]) -> None:
        if self._may_act():
            for task_id, paths in chosen().items():
                self._act(ask(task_id, paths))

    def _may_act(self) -> bool:
        if self._refusal:
            self._sheet.say(self._refusal, bad=True)
        return not self._refusal

    def _act(self, request: Request) -> None:
        self._sheet.run_worker(act(self._sheet, self._port, request), group="act")


class ChangeSheet(LoadedSheet[Row, Found]):
    """A list of changes, with what can be done with those that are chosen."""

    def __init__(self, title: str, now: float, read: Callable[[], Found], port: Port, refusal: str) -> None:
        super().__init__(title, now, read)
        self._port, self._refusal = port, refusal
        self.verbs = ChangeVerbs(self, port, refusal)

    def chosen(self) -> dict[str, list[str]]:
        """Return the paths that a key is about, by task, as requests name them; none, after a sentence, for nothing."""
        raise NotImplementedError

    def files(self) -> dict[str, list[str]]:
        """Return the same as whole files."""
        return self.chosen()

    def edited_file(self) -> tuple[ChangeListing, FileChange] | None:
        """Return the one file that $EDITOR is to open; None, after a sentence, for none."""
        raise NotImplementedError

    def keys(self) -> Keys:
        return (*_acts(self, self._refusal), *super().keys())


def _acts(sheet: ChangeSheet[Row, Found], refusal: str) -> Keys:
    """Return the keys that change something."""
    return () if refusal else sheet.offer(*_ACTS)


class ChangeLinesScreen(ChangeSheet[DiffLine, FileLines]):
    """The keys are about the hunks of the marked lines or of the one under the cursor; above them, about the file."""

    SCOPE = "change_lines"
    EMPTY = "This change list is empty."
    TWO_LINES = True

    def __init__(self, port: Port, now: float, root: Path, change: tuple[str, str], refusal: str = "") -> None:
        """`change` is the task and the path."""
        self._task_id, self._path = change
        super().__init__(safe(self._path), now, change_lines.reader(root, *change), port, refusal)
        self._file: FileLines | None = None

    def rows_view(self) -> LineRows:
        return LineRows(appearance_of(self.app), self._now)

    def keys(self) -> Keys:
        return (*_acts(self, self._refusal), *self.offer("next_need", "previous_need", "why", "filter", "back"))

    def _loaded(self, result: FileLines) -> None:
        self._file = result
        change = result.change
        size = f"{len(result.open_hunks)} of {words.plural(change.hunks, 'hunk')} open" if change.text else "whole"
        clash = f" · {len(result.clashes)} in conflict" if result.clashes else ""
        fill(self, result.lines, safe(self._path), f"task {ids.short(self._task_id)} · {size}{clash}")

    def chosen(self) -> dict[str, list[str]]:
        if self._file is None:
            self.say("it is still being read", bad=True)
            return {}
        keys = set(self.rows.targets())
        hunks = {row.hunk for row in self._file.lines if str(row.number) in keys}
        if 0 in hunks or not self._file.change.text:
            return {self._task_id: [self._path]}
        left = sorted(hunks & set(self._file.open_hunks))
        if not left:
            self.say("Already decided; u undoes it." if hunks else "Nothing is chosen.", bad=True)
            return {}
        return {self._task_id: [f"{self._path}:{','.join(map(str, left))}"]}

    def files(self) -> dict[str, list[str]]:
        return {self._task_id: [self._path]}

    def edited_file(self) -> tuple[ChangeListing, FileChange] | None:
        return (self._file.listing, self._file.change) if self._file else None

    def action_step(self, by: int) -> None:
        """Go to the first line of the next or the previous hunk, round and round."""
        heads = list(self._heads())
        here = int(self.rows.view.key(self.rows.selected)) if self.rows.selected else 0
        if not heads:
            self.say("It has no hunks: it is taken whole.")
        elif by > 0:
            self.rows.select_key(str(next((head for head in heads if head > here), heads[0])))
        else:
            self.rows.select_key(str(next((head for head in reversed(heads) if head < here), heads[-1])))

    def _heads(self) -> Iterator[int]:
        for row in self._file.lines if self._file else ():
            if row.hunk and row.state:
                yield row.number


def _edited(
    app: App[object], listing: ChangeListing, change: FileChange, say: Callable[[str], None]
) -> WriteChange | None:
    """Return the request that brings in a file as an editor left it; None, after a sentence, for nothing."""
    try:
        text = change_views.proposal(listing, change).decode()
        after = editor.edit(app, text, "." + change.path.rpartition(".")[2][:10])
    except (ActionError, editor.NoEditor) as error:
        say(str(error))
        return None
    except UnicodeDecodeError:
        say(f"it is not UTF-8 text: `changes edit {ids.short(listing.task_id)} PATH` opens it as it is")
        return None
    if after is None:
        say("nothing was changed, and nothing brought in")
        return None
    sha256 = change_views.keep_edited(listing, after.encode())
    return WriteChange(task_id=listing.task_id, path=change.path, sha256=sha256)
