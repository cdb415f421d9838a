"""Commands of the workers pane."""

from __future__ import annotations

from lumen_tui.tui.commands import WORKERS
from lumen_tui.tui.handlers.base import Handler

_NONE = "there is no task; t makes one"


class WorkersHandler(Handler):
    """Cancel, retry, open."""

    scope = WORKERS

    def why_cancel_task(self) -> str:
        row = self.selected
        if row is None:
            return _NONE
        return "the task has ended; R runs it again" if row.status.ended and not self.rows.marks.keys else ""

    def do_cancel_task(self) -> None:
        for task_id in self.rows.targets():
            self.submit("task.cancel", task_id=task_id)

    def why_retry_task(self) -> str:
        row = self.selected
        if row is None:
            return _NONE
        return "the task is still running; c cancels it" if row.status.alive and not self.rows.marks.keys else ""

    def do_retry_task(self) -> None:
        for task_id in self.rows.targets():
            self.submit("task.retry", task_id=task_id)

    def open(self) -> None:
        """The task in full, with its live tail and its result."""
        from lumen_tui.tui.screens.task_detail_screen import TaskDetailScreen

        self.room.lumen.push_screen(TaskDetailScreen(self.room.lumen.port, self.selected.id))
