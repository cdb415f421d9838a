"""One file of a change list: its hunks are accepted or dropped one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from textual.app import App

from lumen_tui.actions import change_lines, change_views
from lumen_tui.actions.change_lines import CLASH, DiffLine, FileLines
from lumen_tui.actions.changelists import Listed
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import Port
from lumen_tui.model import ids
from lumen_tui.model.changelist import FileChange
from lumen_tui.model.requests.changes import AcceptChanges, DropChanges, GiveConflicts, WriteChange
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.text import safe
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit import editor
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import LoadedSheet, Rows, act, fill

ACTS = ("changes_accept", "changes_drop", "changes_edit", "new_task", "undo", "mark")
_STATE = 9  # cells
_AROUND = _STATE + 4  # cells of a row beside the text
_LONGEST = 2000


class LineRows(Rows[DiffLine]):
    """What became of the hunk at its first line, and the line; below the selected one what had no room."""

    def key(self, row: DiffLine) -> str:
        return str(row.number)

    def line(self, row: DiffLine, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        style = {"+": ink.good, "-": ink.bad, "@": ink.accent}.get(row.text[:1], ink.text) if row.hunk else ink.muted
        state = Cell(row.state, ink.loud if row.state == CLASH else ink.muted, _STATE)
        return line(width, [state, Cell(row.text, ink.strong if selected and not row.hunk else style)])

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


class ChangeLinesScreen(LoadedSheet[DiffLine, FileLines]):
    """The keys are about the hunks of the marked lines or of the one under the cursor; above them, about the file."""

    SCOPE = "change_lines"
    EMPTY = "Nothing is in it."
    TWO_LINES = True

    def __init__(self, port: Port, now: float, root: Path, change: tuple[str, str], refusal: str = "") -> None:
        """`change` is the task and the path."""
        self._task_id, self._path = change
        super().__init__(safe(self._path), now, change_lines.reader(root, *change))
        self._port, self._refusal = port, refusal
        self._file: FileLines | None = None

    def rows_view(self) -> LineRows:
        return LineRows(appearance_of(self.app), self._now)

    def keys(self) -> Keys:
        acts = () if self._refusal else self.offer(*ACTS)
        return (*acts, *self.offer("next_need", "previous_need"), *super().keys()[1:])

    def _loaded(self, result: FileLines) -> None:
        self._file = result
        change = result.change
        size = f"{len(result.open_hunks)} of {words.plural(change.hunks, 'hunk')} open" if change.text else "whole"
        clash = f" · {len(result.clashes)} in conflict" if result.clashes else ""
        fill(self, result.lines, safe(self._path), f"task {ids.short(self._task_id)} · {size}{clash}")

    def _chosen(self) -> list[str]:
        """Return what a key is about as the requests name it; none, with a sentence, where nothing can be done."""
        if self._refusal or self._file is None:
            self.say(self._refusal or "it is still being read", bad=True)
            return []
        keys = set(self.rows.targets())
        hunks = {row.hunk for row in self._file.lines if str(row.number) in keys}
        if 0 in hunks or not self._file.change.text:
            return [self._path]
        left = sorted(hunks & set(self._file.open_hunks))
        if not left:
            self.say("It was decided on: u undoes that." if hunks else "Nothing is chosen.", bad=True)
            return []
        return [f"{self._path}:{','.join(map(str, left))}"]

    def action_accept(self) -> None:
        if paths := self._chosen():
            self.run_worker(act(self, self._port, AcceptChanges(task_id=self._task_id, paths=paths)), group="act")

    def action_drop(self) -> None:
        if paths := self._chosen():
            self.run_worker(act(self, self._port, DropChanges(task_id=self._task_id, paths=paths)), group="act")

    def action_give(self) -> None:
        """Have a worker bring in the file, together with what is there now."""
        if self._refusal:
            self.say(self._refusal, bad=True)
        else:
            request = GiveConflicts(task_id=self._task_id, paths=(self._path,))
            self.run_worker(act(self, self._port, request), group="act")

    def action_edit(self) -> None:
        """Open the file with both sides in the operator's editor, and bring in what comes back."""
        if self._refusal or self._file is None:
            self.say(self._refusal or "it is still being read", bad=True)
        elif request := edited(self.app, self._file.found, self._file.change, lambda text: self.say(text, bad=True)):
            self.run_worker(act(self, self._port, request), group="act")

    def action_undo(self) -> None:
        if self._refusal:
            self.say(self._refusal, bad=True)
        else:
            self.run_worker(act(self, self._port, Undo()), group="act")

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


def edited(app: App[object], found: Listed, change: FileChange, say: Callable[[str], None]) -> WriteChange | None:
    """Return the request that brings in a file as an editor left it; None, after a sentence, for nothing."""
    try:
        text = change_views.proposal(found, change).decode()
        after = editor.edit(app, text, "." + change.path.rpartition(".")[2][:10])
    except (ActionError, editor.NoEditor) as error:
        say(str(error))
        return None
    except UnicodeDecodeError:
        say(f"it is no UTF-8 text: `changes edit {ids.short(found.task_id)} PATH` opens it as it is")
        return None
    if after is None:
        say("nothing was changed, and nothing brought in")
        return None
    sha256 = change_views.keep_edited(found, after.encode())
    return WriteChange(task_id=found.task_id, path=change.path, sha256=sha256)
