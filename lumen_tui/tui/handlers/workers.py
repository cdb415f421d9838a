"""Commands of the workers pane."""

from __future__ import annotations

from lumen_tui.model.attention import can_wait
from lumen_tui.model.requests.attention import DismissItems
from lumen_tui.model.requests.tasks import CancelTask
from lumen_tui.tui.commands import WORKERS
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.panes.workers import WorkersPane


class WorkersHandler(Handler):
    """Cancel, retry, put aside, open."""

    scope = WORKERS

    @property
    def _none(self) -> str:
        return f"there is no task; {self.key('new_task')} makes one"

    def why_cancel_task(self) -> str:
        row = self.selected
        if row is None:
            return self._none
        if self.rows.marks.keys or not row.status.ended:
            return ""
        return f"the task has ended; {self.key('retry_task')} runs it again"

    def do_cancel_task(self) -> None:
        for task_id in self.rows.targets():
            self.submit(CancelTask(task_id=task_id))

    def why_retry_task(self) -> str:
        row = self.selected
        if row is None:
            return self._none
        if self.rows.marks.keys or not row.status.alive:
            return ""
        return f"the task is still running; {self.key('cancel_task')} cancels it"

    def do_retry_task(self) -> None:
        from lumen_tui.tui.screens.task_form import retry

        task_ids = self.rows.targets()
        alone = self.selected if task_ids == [self.selected.id] else None
        for task_id in task_ids:
            retry(self.host, alone, task_id, self.submit)

    def why_dismiss(self) -> str:
        if self.selected is None:
            return self._none
        return "" if self._needing() else "no failed or lost task here still needs you"

    def do_dismiss(self) -> None:
        self.submit(DismissItems(targets=self._needing()))

    def _needing(self) -> list[str]:
        """The tasks the command is about that need a person and will not change by themselves."""
        asked = set(self.rows.targets())
        return [need.target for need in self.snapshot.attention if need.target in asked and can_wait(need)]

    def _model(self) -> str:
        pane = self.room.pane(WORKERS)
        return pane.model_of(self.selected) if isinstance(pane, WorkersPane) else ""

    def open(self) -> None:
        """The task in full, with its live tail and its result."""
        self.show_task(self.selected.id, self._model())
