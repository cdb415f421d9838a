"""The sheet on which one question of a worker stands in full: read it, copy it, and go to what it belongs to."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from lumen_tui.model.approvals import Approval, whole_call
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import live_ones
from lumen_tui.tui.kit import editor
from lumen_tui.tui.kit.cells import Cell, line
from lumen_tui.tui.kit.lines import ScrolledLines
from lumen_tui.tui.kit.parts import Said
from lumen_tui.tui.kit.rows_sheet import look_of, show_why
from lumen_tui.tui.kit.screen import DetailScreen
from lumen_tui.tui.screens.approvals.answers import Desk
from lumen_tui.tui.screens.approvals.view import as_text, page

_NOBODY = "No worker waits for an answer. esc goes back; u takes your last answer back."


class ApprovalPaper(DetailScreen[str]):
    """Shows `_request`, or that there is none. Answers nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "why", show=False),
        Binding("e", "edit", show=False),
        Binding("Y", "copy", show=False),
        Binding("enter", "task", show=False),
    ]

    def __init__(self, snapshot: Snapshot, approval_id: str, desk: Desk) -> None:
        super().__init__("A worker asks")
        self._snapshot, self._now = snapshot, snapshot.taken
        self._desk = desk
        self._request: Approval | None = next((one for one in snapshot.approvals if one.id == approval_id), None)
        self._answered = ""  # what became of the question that is shown, where it waits no more
        self._lines = ScrolledLines(self._page)

    def body(self) -> ComposeResult:
        yield self._lines
        yield Said()

    def _page(self, width: int, _height: int) -> list[list[Segment]]:
        request = self._request
        if request is None:
            return [line(width, (Cell(_NOBODY, look_of(self.app).ink.muted),))]
        tasks = live_ones(self._snapshot.tasks)
        objective = next((view.spec.objective for view in tasks if view.id == request.task_id), "")
        walls = self._desk.walls(request)
        return page(request, objective, self._now, width, look_of(self.app), walls=walls, answered=self._answered)

    @on(ScrolledLines.Opened)
    def action_task(self) -> None:
        if self._request is not None:
            self._desk.open_task(self._request.task_id)

    def action_why(self) -> None:
        """What caused the question, and what came of it."""
        if self._request is not None:
            show_why(self.app, self._request.id)

    def action_copy(self) -> None:
        if self._request is not None:
            self.app.copy_to_clipboard(whole_call(self._request))
            self.say("The call is in the clipboard.")

    def action_edit(self) -> None:
        if self._request is None:
            return
        try:
            changed = editor.edit(self.app, as_text(self._request), ".txt")
        except editor.NoEditor as error:
            self.say(str(error), bad=True)
            return
        self.say("What is asked stays as the worker wrote it." if changed else "")
